package observe

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/controllers/fact"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// kafkaLimit bounds all questions to Kafka's API in one pass.
const kafkaLimit = 20 * time.Second

// kafka asks for settings and metadata. While no broker serves nobody is asked: there would be no answer for seconds.
func (o *Observer) kafka(ctx context.Context, s cluster.Snapshot) (fact.Fact[map[string]string], fact.Fact[cluster.Metadata]) {
	settings, metadata := fact.Unknown[map[string]string]("no broker serves"), fact.Unknown[cluster.Metadata]("no broker serves")
	serves := false
	for _, f := range s.Brokers {
		r, known := f.Get()
		serves = serves || known && r.Ready
	}
	if !serves {
		return settings, metadata
	}
	k, err := o.Kafka(s.Cluster)
	if err != nil {
		return fact.Unknown[map[string]string](err.Error()), fact.Unknown[cluster.Metadata](err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, kafkaLimit)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error {
		if all, err := k.ClusterSettings(ctx); err != nil {
			settings = fact.Unknown[map[string]string](silence(err))
		} else {
			settings = fact.Known(all)
		}
		return nil
	})
	g.Go(func() error {
		if m, err := readMetadata(ctx, k); err != nil {
			metadata = fact.Unknown[cluster.Metadata](silence(err))
		} else {
			metadata = fact.Known(m)
		}
		return nil
	})
	_ = g.Wait() // what went wrong is in the facts
	return settings, metadata
}
