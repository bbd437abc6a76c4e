package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/apply"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/catalogue"
	"github.com/fairlead-io/fairlead/controllers/observe"
)

// Brokers is how brokers are reached: the seam between the operator and the clusters that it looks after.
type Brokers struct {
	Admin observe.Admin
	// Endpoint is the URL of a pod's admin endpoint, empty while it has none.
	Endpoint func(*corev1.Pod) string
	// Kafka gives the one client of a cluster, which lives until Drop is called with the UID of the Cluster.
	Kafka func(*v1alpha1.Cluster) (Kafka, error)
	// Topics gives the same client for what Topics need; nil: Topics are not looked after.
	Topics func(*v1alpha1.Cluster) (catalogue.Brokers, error)
	Drop   func(uid string)
}

// Kafka is what the operator asks and changes through Kafka's protocol.
type Kafka interface {
	observe.Kafka
	apply.Kafka
}

// overNetwork reaches brokers at the addresses of their pods and at the address that the Cluster's status has for clients.
func overNetwork(m manager.Manager) (*Brokers, error) {
	admin, clients := brokerclient.NewAdmin(), brokerclient.NewClients()
	err := m.Add(untilStopped(func() {
		clients.Close()
		admin.Close()
	}))
	if err != nil {
		return nil, err
	}
	of := func(c *v1alpha1.Cluster) (*brokerclient.Client, error) {
		if c.Status.BootstrapAddress == "" {
			return nil, fmt.Errorf("cluster %s has no bootstrap address yet", c.Name)
		}
		return clients.Of(string(c.UID), c.Status.BootstrapAddress)
	}
	return &Brokers{
		Admin:    admin,
		Endpoint: observe.PodEndpoint,
		Kafka:    func(c *v1alpha1.Cluster) (Kafka, error) { return of(c) },
		Topics:   func(c *v1alpha1.Cluster) (catalogue.Brokers, error) { return of(c) },
		Drop:     clients.Drop,
	}, nil
}

// untilStopped does something when the operator is told to stop.
type untilStopped func()

// Start is part of a runnable of the manager.
func (f untilStopped) Start(ctx context.Context) error {
	<-ctx.Done()
	f()
	return nil
}

// NeedLeaderElection is false: also an operator that stands by stops.
func (untilStopped) NeedLeaderElection() bool { return false }
