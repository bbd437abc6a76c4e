package apply

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
)

// unregister takes a broker out of the cluster's metadata; one that is not in it is out.
func (a *Applier) unregister(ctx context.Context, c *v1alpha1.Cluster, id int32) error {
	k, err := a.Kafka(c)
	if err != nil {
		return err
	}
	err = k.Unregister(ctx, id)
	var no *brokerclient.Refusal
	if errors.As(err, &no) && no.Code == kafka.BrokerIDNotRegistered {
		return nil
	}
	return err
}
