package observe

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// Observer gathers snapshots of Clusters.
type Observer struct {
	// Cached has the objects that the operator made, and pods and claims. Live asks the API server itself.
	Cached, Live client.Reader
	Admin        Admin
	// Kafka gives the client of a cluster, which others use too. No broker is asked yet.
	Kafka func(*v1alpha1.Cluster) (Kafka, error)
	// Endpoint is the URL of a pod's admin endpoint, empty while the pod has no address.
	Endpoint func(*corev1.Pod) string
	Defaults cluster.Defaults
	// OwnNamespaceOnly: nothing is asked for that belongs to no namespace. Nodes and storage classes are then not known.
	OwnNamespaceOnly bool
	Now              func() time.Time
}

// Admin asks the admin endpoints of brokers.
type Admin interface {
	Readiness(ctx context.Context, url string) (adminapi.Readiness, error)
	SafeToStop(ctx context.Context, urls []string, ids []int32) (adminapi.Verdict, error)
}

// Kafka asks a cluster through Kafka's protocol.
type Kafka interface {
	ClusterSettings(context.Context) (map[string]string, error)
	Registered(context.Context) ([]brokerclient.Broker, error)
	Voters(context.Context) ([]int32, error)
	Topics(ctx context.Context, names ...string) (map[string]brokerclient.Topic, error)
	MinISR(ctx context.Context, topics ...string) (map[string]int, error)
}

// Snapshot is what is seen now of a Cluster, which the caller has just read.
func (o *Observer) Snapshot(ctx context.Context, c *v1alpha1.Cluster) (cluster.Snapshot, error) {
	s := cluster.Snapshot{Cluster: c, Defaults: o.Defaults, Fresh: fresh()}
	if err := o.readObjects(ctx, &s); err != nil {
		return s, fmt.Errorf("observe cluster %s/%s: %w", c.Namespace, c.Name, err)
	}
	if c.DeletionTimestamp != nil { // brokers that go do not answer, and no plan asks
		s.Now = o.Now()
		return s, nil
	}
	s.Nodes = o.nodes(ctx, s)
	s.StorageClasses = o.storageClasses(ctx, s)
	s.Brokers = o.readiness(ctx, s)
	s.Settings, s.Metadata = o.kafka(ctx, s)
	s.Now = o.Now() // the answers are not older than this says
	s.Verdicts = o.verdicts(ctx, s)
	return s, nil
}
