package oncall

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/fact"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

// view is what is in the API server: objects with their status, and the events of the first.
type view struct {
	objects []object
	events  []cluster.Event
}

// object was made with the spec of before, and may have been edited since.
type object struct{ before, now client.Object }

func (s *scene) view() view {
	return view{objects: []object{{s.original, s.cluster}}, events: s.events}
}

// situations are in the order of the page. Each comes to rest: the operator writes nothing more until somebody does something.
var situations = []struct {
	name string // of the example in the page
	// typ and reason are those of the condition that says it, words what its message has at least.
	typ    conditions.Type
	reason conditions.Reason
	words  []string
	play   func(*testing.T) view
}{
	{"pod pending", conditions.BrokersReady, conditions.PodUnschedulable, []string{"pod demo-1", "Unschedulable", "Insufficient memory"}, podPending},
	{"image missing", conditions.BrokersReady, conditions.ImageUnavailable, []string{"pod demo-1", "registry.example/fairlead:1.0.1", "not found"}, imageMissing},
	{"bad broker config", conditions.ConfigValid, conditions.ConfigInvalid, []string{"log.retention.hours", "3 days"}, badConfig},
	{"broker does not start", conditions.BrokersReady, conditions.PodFailed, []string{"pod demo-1", "CrashLoopBackOff", "bad broker config", "compression.type"}, doesNotStart},
	{"disk full", conditions.StorageReady, conditions.DiskFull, []string{"broker 1", "data-demo-1"}, diskFull},
	{"broker away", conditions.BrokersReady, conditions.NodeLost, []string{"pod demo-2", "worker-3", "2026-03-14T02:46:20Z"}, brokerAway},
	{"topic under-replicated", conditions.Replicated, conditions.UnderReplicated, []string{"4 of 12 partitions", "broker 2"}, underReplicated},
	{"impossible change", conditions.Ready, conditions.CannotShrink, []string{"12 partitions", "spec.partitions is 6"}, impossibleChange},
}

// More memory is asked for than any node has left: the broker that is restarted first finds no place.
func podPending(t *testing.T) view {
	s := newScene(t)
	s.fate = func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.ContainerStatuses = "", nil
		p.Status.Phase, p.Status.Conditions = corev1.PodPending, []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
		}}
	}
	s.edit(func(c *v1alpha1.ClusterSpec) {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Gi")}
	})
	s.settle()
	return s.view()
}

// The tag of the new image was never pushed.
func imageMissing(t *testing.T) view {
	s := newScene(t)
	s.fate = func(p *corev1.Pod) {
		waits(p, "ImagePullBackOff", `Back-off pulling image "registry.example/fairlead:1.0.1": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image `+
			`"registry.example/fairlead:1.0.1": failed to resolve reference "registry.example/fairlead:1.0.1": registry.example/fairlead:1.0.1: not found`)
	}
	s.edit(func(c *v1alpha1.ClusterSpec) { c.Image = "registry.example/fairlead:1.0.1" })
	s.settle()
	return s.view()
}

// A setting has a value that no broker would start with.
func badConfig(t *testing.T) view {
	s := newScene(t)
	s.edit(func(c *v1alpha1.ClusterSpec) { c.Config = map[string]string{"log.retention.hours": "3 days"} })
	s.settle()
	return s.view()
}

// A release is gone back to that does not know a value. The broker's last word is what the kubelet keeps of it.
func doesNotStart(t *testing.T) view {
	s := newScene(t)
	s.fate = func(p *corev1.Pod) {
		waits(p, "CrashLoopBackOff", "back-off 40s restarting failed container=broker pod=demo-1_default(0e6e0a0c-7a6b-4a51-9d0e-3d5a3f1f7f10)")
		p.Status.ContainerStatuses[0].RestartCount = 3
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "bad broker config: " +
			"/etc/fairlead/broker.properties: Invalid value uncompressed for configuration compression.type: String must be one of: gzip, snappy, lz4, zstd, producer\n"}
	}
	s.edit(func(c *v1alpha1.ClusterSpec) {
		c.Image, c.Config["compression.type"] = "registry.example/fairlead:0.9.0", "uncompressed"
	})
	s.settle()
	return s.view()
}

// The broker leads nothing any more and is in no in-sync set, until there is space.
func diskFull(t *testing.T) view {
	s := newScene(t)
	s.says = func(r *adminapi.Readiness) {
		if r.NodeID == 1 {
			r.DiskFull, r.CaughtUp, r.LedPartitions, r.OutOfSync = true, false, 0, partitions
		}
	}
	s.sees = func(m *cluster.Metadata) {
		m.UnderReplicated, m.UnderReplicatedExamples = partitions, examples(0, 1, 2)
	}
	s.settle()
	return s.view()
}

// A node stopped answering, and the broker on it with it.
func brokerAway(t *testing.T) view {
	s := newScene(t)
	s.nodes[2].Status.Conditions[0] = corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.",
		LastTransitionTime: metav1.NewTime(night.Add(-40 * time.Second)),
	}
	s.pods[2].Status.Conditions[0].Status = corev1.ConditionFalse
	s.settle()
	return s.view()
}

// A broker serves, and does not keep up with a part of what it holds.
func underReplicated(t *testing.T) view {
	s := newScene(t)
	s.says = func(r *adminapi.Readiness) {
		if r.NodeID == 2 {
			r.CaughtUp, r.OutOfSync = false, 4
		}
	}
	s.sees = func(m *cluster.Metadata) { m.UnderReplicated, m.UnderReplicatedExamples = 4, examples(0, 3, 6) }
	s.settle()
	snap := newTopic(t)
	before := snap.Topic.DeepCopy()
	snap.Found = behind(snap.Found, 2, 0, 3, 6, 9)
	settleTopic(t, &snap)
	v := s.view()
	v.objects = append([]object{{before, snap.Topic}}, v.objects...)
	return v
}

// behind is the topic with the replicas of a broker out of sync in some partitions.
func behind(f fact.Fact[*topic.Found], broker int32, partitions ...int) fact.Fact[*topic.Found] {
	found, _ := f.Get()
	for _, p := range partitions {
		isr := &found.Partitions[p].ISR
		*isr = slices.DeleteFunc(slices.Clone(*isr), func(id int32) bool { return id == broker })
	}
	return fact.Known(found)
}

// A topic is to have fewer partitions than it has, and another retention at the same time.
func impossibleChange(t *testing.T) view {
	snap := newTopic(t)
	before := snap.Topic.DeepCopy()
	fewer := int32(partitions / 2)
	snap.Topic.Spec.Partitions, snap.Topic.Spec.Config = &fewer, map[string]string{"retention.ms": "3600000"}
	snap.Topic.Generation++
	settleTopic(t, &snap)
	return view{objects: []object{{before, snap.Topic}}}
}

// What is wrong is said by one condition, and in one line by Ready, which kubectl get shows.
func TestSituationsAreSaid(t *testing.T) {
	for _, r := range situations {
		t.Run(r.name, func(t *testing.T) {
			v := r.play(t)
			c := conditions.Get(conditionsOf(v.objects[0].now), r.typ)
			if c == nil || c.Reason != string(r.reason) || c.LastTransitionTime.Time.Before(night) {
				t.Fatalf("%+v", c)
			}
			for _, w := range r.words {
				if !strings.Contains(c.Message, w) {
					t.Errorf("%q is not in %q", w, c.Message)
				}
			}
		})
	}
}

func conditionsOf(o client.Object) []metav1.Condition {
	if t, ok := o.(*v1alpha1.Topic); ok {
		return t.Status.Conditions
	}
	return o.(*v1alpha1.Cluster).Status.Conditions
}
