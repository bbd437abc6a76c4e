package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

// snapshot is what an observer sees of the world.
func (w *world) snapshot() Snapshot {
	s := Snapshot{
		Now: w.now, Cluster: w.c.DeepCopy(), Defaults: Defaults{Image: "fairlead:1"},
		Fresh:          Identities{ClusterID: "fresh", DirectoryIDs: [MaxVoters]string{"d0", "d1", "d2", "d3", "d4"}},
		Objects:        w.objects,
		StorageClasses: fact.Known([]storagev1.StorageClass{w.class}),
		Nodes:          map[string]fact.Fact[*corev1.Node]{},
		Brokers:        map[int32]fact.Fact[adminapi.Readiness]{},
		Verdicts:       map[int32]fact.Fact[adminapi.Verdict]{},
		Settings:       fact.Unknown[map[string]string]("no broker serves"),
		Metadata:       fact.Unknown[Metadata]("no broker serves"),
	}
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[id]
		s.Pods = append(s.Pods, w.pod(id, p))
		s.Nodes[nodeName(id)] = fact.Known(w.node(id))
		if p.state == "" && !w.lost[id] {
			s.Brokers[id] = known(w, w.readiness(id, p))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.claims)) {
		s.Claims = append(s.Claims, *w.claims[id].DeepCopy())
	}
	if w.quorum() && w.anyServes() {
		s.Settings, s.Metadata = known(w, maps.Clone(w.settings)), known(w, w.metadata())
	}
	for _, id := range Candidates(s) {
		v := adminapi.Verdict{Brokers: []int32{id}, Safe: w.quorum() && w.safe(id)}
		if !v.Safe {
			v.Total, v.Blocks = 1, []adminapi.Block{{Effect: adminapi.LosesAcks, Topic: "t", Reason: "in-sync set [1]", Clears: "others catching up"}}
		}
		s.Verdicts[id] = fact.Unknown[adminapi.Verdict]("no broker answers")
		if w.anyServes() {
			s.Verdicts[id] = known(w, v)
		}
	}
	return s
}

func (w *world) anyServes() bool {
	for id, p := range w.pods {
		if p.serving() && !w.lost[id] {
			return true
		}
	}
	return false
}

func (w *world) metadata() Metadata {
	m := Metadata{Registered: slices.Sorted(maps.Keys(w.registered)), Replicas: maps.Clone(w.replicas), Partitions: 1}
	for _, v := range w.c.Status.Quorum.Voters {
		m.Voters = append(m.Voters, v.ID)
	}
	for id, n := range w.replicas {
		if p := w.pods[id]; n > 0 && (p == nil || !p.serving() || p.lag > 0 || w.lost[id]) {
			m.UnderReplicated++
			m.UnderReplicatedExamples = []string{"t-0"}
		}
	}
	return m
}

func nodeName(id int32) string { return fmt.Sprintf("node-%d", id) }

func (w *world) node(id int32) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(id), Labels: map[string]string{}}}
	if rack := w.racks[n.Name]; rack != "" {
		n.Labels["topology.kubernetes.io/zone"] = rack
	}
	status := corev1.ConditionTrue
	if w.lost[id] {
		status = corev1.ConditionUnknown
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Message: "Kubelet stopped posting node status.",
		LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}}
	return n
}

func (w *world) pod(id int32, p *modelPod) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: desired.Pod("a", id), UID: p.uid, Labels: maps.Clone(p.labels), Annotations: maps.Clone(p.annotations)},
		Spec:       corev1.PodSpec{NodeName: nodeName(id)},
	}
	if p.going {
		at := metav1.NewTime(w.now)
		pod.DeletionTimestamp = &at
	}
	status := corev1.ContainerStatus{Name: desired.Container, Image: p.image}
	switch p.state {
	case "":
		status.State.Running = &corev1.ContainerStateRunning{}
	case "Unschedulable":
		pod.Spec.NodeName = ""
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient memory."}}
		return pod
	case "CrashLoopBackOff":
		status.RestartCount = 3
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: p.state, Message: "back-off 40s restarting failed container"}
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "bad broker config: x\n"}
	default:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: p.state, Message: "not found"}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	ready := corev1.ConditionFalse
	if p.serving() && w.quorum() && !w.lost[id] {
		ready = corev1.ConditionTrue
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: ready})
	return pod
}
