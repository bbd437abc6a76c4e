package oncall

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/fact"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

const topicName = "orders"

// newTopic is a Topic of the cluster that has been well for days.
func newTopic(t *testing.T) topic.Snapshot {
	t.Helper()
	n, factor := int32(partitions), int32(brokers)
	s := topic.Snapshot{
		Now: made,
		Topic: &v1alpha1.Topic{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: topicName, UID: "topic", Generation: 1},
			Spec: v1alpha1.TopicSpec{
				ClusterRef: v1alpha1.ClusterReference{Name: clusterName}, Partitions: &n, ReplicationFactor: &factor,
				Config: map[string]string{"retention.ms": "86400000"}, DeletionPolicy: v1alpha1.Retain,
			},
		},
		Cluster: &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName}},
		Found:   fact.Known[*topic.Found](nil), HeardAt: made,
		Brokers: fact.Known([]topic.Broker{{ID: 0}, {ID: 1}, {ID: 2}}),
		Last:    topic.Last{Generation: 1},
	}
	s.Topic.Status = topic.Compute(s).Status // it is created
	found := &topic.Found{ID: kafka.TopicID{0x6a, 0x1f, 0x0c, 0x5e, 15: 0x01}, Settings: map[string]string{"retention.ms": "86400000"}}
	for p := range int32(partitions) {
		replicas := []int32{p % brokers, (p + 1) % brokers, (p + 2) % brokers}
		found.Partitions = append(found.Partitions, topic.Partition{Leader: replicas[0], Replicas: replicas, ISR: replicas})
	}
	s.Found = fact.Known(found)
	settleTopic(t, &s)
	s.Now, s.HeardAt = night, night
	return s
}

// settleTopic plans until a plan has nothing more to do.
func settleTopic(t *testing.T, s *topic.Snapshot) {
	t.Helper()
	const most = 3
	for range most {
		p := topic.Compute(*s)
		if len(p.Actions) > 0 {
			t.Fatalf("no situation has %s", p.Actions[0])
		}
		if equality.Semantic.DeepEqual(p.Status, s.Topic.Status) {
			return
		}
		s.Topic.Status = p.Status
	}
	t.Fatalf("the operator does not come to rest: %+v", s.Topic.Status)
}
