package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

// maxBrokers bounds the numbers of brokers that get pods: spec.replicas cannot be larger. A broker with a higher number is not the operator's.
const maxBrokers = 100

// broker is what was seen of one broker.
type broker struct {
	id    int32
	name  string                        // of its pod
	pod   *corev1.Pod                   // nil: there is none
	claim *corev1.PersistentVolumeClaim // nil: there is none
	state podState
	said  fact.Fact[adminapi.Readiness]
}

// brokersOf are the brokers that are wanted, and those that have a pod or are recorded.
func brokersOf(s Snapshot) []*broker {
	pods, claims := map[int32]*corev1.Pod{}, map[int32]*corev1.PersistentVolumeClaim{}
	n := max(1, s.Cluster.Spec.Replicas)
	if sts := s.Objects.StatefulSet; sts != nil && sts.Spec.Replicas != nil {
		n = max(n, *sts.Spec.Replicas)
	}
	for i := range s.Pods {
		if id, ok := desired.PodBroker(s.Cluster.Name, s.Pods[i].Name); ok && id < maxBrokers {
			pods[id] = &s.Pods[i]
			n = max(n, id+1)
		}
	}
	for i := range s.Claims {
		if id, ok := desired.ClaimBroker(s.Cluster.Name, s.Claims[i].Name); ok {
			claims[id] = &s.Claims[i]
		}
	}
	brokers := make([]*broker, 0, n)
	for id := range min(n, maxBrokers) {
		b := &broker{id: id, name: desired.Pod(s.Cluster.Name, id), pod: pods[id], claim: claims[id], said: s.Brokers[id]}
		if b.pod == nil {
			b.said = fact.Unknown[adminapi.Readiness]("there is no pod")
		}
		var node fact.Fact[*corev1.Node]
		if b.pod != nil {
			node = s.Nodes[b.pod.Spec.NodeName]
		}
		b.state = stateOf(b.pod, node, s.Now)
		if r, known := b.said.Get(); known && b.state.down() && !servesNobody(r) {
			b.state.kind, b.state.failing = running, b.state.failing && !r.Ready // what it says is newer than what the kubelet said
		}
		brokers = append(brokers, b)
	}
	return brokers
}

// going tells whether the pod is being deleted.
func (b *broker) going() bool { return b.pod != nil && b.pod.DeletionTimestamp != nil }

// losesVolume tells whether the broker's volume goes with its pod.
func (b *broker) losesVolume() bool { return b.claim != nil && b.claim.DeletionTimestamp != nil }

// outdated tells whether the pod was started with something else than what is wanted now. One that is going is replaced as it is.
func (b *broker) outdated(hash string) bool {
	return b.pod != nil && !b.going() && b.pod.Annotations[desired.RestartHashAnnotation] != hash
}

// settled tells whether the broker serves and is in sync with everything, for certain.
func (b *broker) settled() bool {
	r, known := b.said.Get()
	return b.pod != nil && !b.going() && known && r.Ready && r.CaughtUp
}

// serves tells whether the broker serves: by its own word, or else by the kubelet's.
func (b *broker) serves() bool {
	if b.pod == nil || b.going() {
		return false
	}
	if r, known := b.said.Get(); known {
		return r.Ready
	}
	return podReady(b.pod)
}

// idle tells whether it is certain that the broker serves nobody now.
func (b *broker) idle() bool {
	if b.pod == nil || b.state.down() {
		return true
	}
	r, known := b.said.Get()
	return known && servesNobody(r)
}

// servesNobody tells whether nobody depends on a broker that says this.
func servesNobody(r adminapi.Readiness) bool {
	if r.IsQuorumLeader {
		return false
	}
	switch r.Phase {
	case adminapi.Starting, adminapi.Recovering, adminapi.Joining, adminapi.OutOfQuorum:
		return true
	}
	return false
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
