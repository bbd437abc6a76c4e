package cluster

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

var unknownClasses = fact.Unknown[[]storagev1.StorageClass]("storageclasses is forbidden")

// What a person on call reads when something is wrong, by kubectl get and describe alone.
func TestWhatIsWrongIsSaid(t *testing.T) {
	for _, r := range []struct {
		what   string
		change func(w *world, s *Snapshot)
		typ    conditions.Type
		reason conditions.Reason
		text   string
	}{
		{"a disk is full", func(_ *world, s *Snapshot) { s.say(1, func(r *adminapi.Readiness) { r.DiskFull = true }) },
			conditions.StorageReady, conditions.DiskFull, "disk full, writes are refused: broker 1 (data-a-1, 1Gi); a larger spec.storage.size"},
		{"a node does not answer", func(w *world, s *Snapshot) { w.lost[2] = true; *s = w.snapshot() },
			conditions.BrokersReady, conditions.NodeLost, "pod a-2: node node-2 is not ready since 2026-01-01T00:00:00Z: Kubelet stopped posting node status; the broker may still run there, so its pod is replaced only when"},
		{"a node cannot be looked at", func(w *world, s *Snapshot) {
			w.lost[2] = true
			*s = w.snapshot()
			s.Brokers[2] = fact.Unknown[adminapi.Readiness]("no answer in time")
			s.Nodes["node-2"] = fact.Unknown[*corev1.Node]("no permission")
		}, conditions.BrokersReady, conditions.BrokersNotReady, "broker 2: Unreachable: the admin endpoint does not answer: no answer in time; its node node-2 cannot be looked at: no permission"},
		{"a node is gone", func(w *world, s *Snapshot) {
			w.lost[2] = true
			*s = w.snapshot()
			s.Nodes["node-2"] = fact.Known[*corev1.Node](nil)
		}, conditions.BrokersReady, conditions.NodeLost, "pod a-2: node node-2 is gone"},
		{"a broker crashes", func(w *world, s *Snapshot) { w.pods[1].state = "CrashLoopBackOff"; *s = w.snapshot() },
			conditions.BrokersReady, conditions.PodFailed, "pod a-1: CrashLoopBackOff: ended with exit code 1: bad broker config: x"},
		{"an image is missing", func(w *world, s *Snapshot) { w.pods[1].state = "ErrImagePull"; *s = w.snapshot() },
			conditions.BrokersReady, conditions.ImageUnavailable, "pod a-1: ImagePullBackOff: image fairlead:1 cannot be pulled: not found"},
		{"no node takes a pod", func(w *world, s *Snapshot) { w.pods[1].state = "Unschedulable"; *s = w.snapshot() },
			conditions.BrokersReady, conditions.PodUnschedulable, "pod a-1: Unschedulable: 0/3 nodes are available: 3 Insufficient memory."},
		{"a broker recovers", func(_ *world, s *Snapshot) {
			s.say(0, func(r *adminapi.Readiness) {
				r.Ready, r.Phase, r.Reason, r.Recovery.Done = false, adminapi.Recovering, "opening logs", 17
			})
		}, conditions.BrokersReady, conditions.BrokersNotReady, "broker 0: recovering: opening logs"},
		{"partitions have no leader", func(_ *world, s *Snapshot) {
			s.metadata(func(m *Metadata) {
				m.Offline, m.OfflineExamples, m.UnderMinISR, m.UnderMinISRExamples = 4, []string{"a-0", "a-1", "b-0"}, 1, []string{"c-0"}
			})
		}, conditions.Available, conditions.OfflinePartitions, "4 partitions without a leader: a-0, a-1, b-0, ...; 1 partition below min.insync.replicas: c-0"},
		{"partitions refuse writes", func(_ *world, s *Snapshot) {
			s.metadata(func(m *Metadata) { m.UnderMinISR, m.UnderMinISRExamples = 1, []string{"c-0"} })
		}, conditions.Available, conditions.UnderMinISR, "1 partition below min.insync.replicas: c-0"},
		{"partitions are under-replicated", func(_ *world, s *Snapshot) {
			s.say(2, func(r *adminapi.Readiness) { r.CaughtUp = false })
			s.metadata(func(m *Metadata) { m.UnderReplicated, m.UnderReplicatedExamples = 2, []string{"a-0", "a-1"} })
		}, conditions.Replicated, conditions.UnderReplicated, "2 partitions under-replicated: a-0, a-1 (behind or away: broker 2)"},
		{"no broker runs", func(w *world, s *Snapshot) {
			for _, p := range w.pods {
				p.state = "CrashLoopBackOff"
			}
			*s = w.snapshot()
		}, conditions.Available, conditions.NoBrokers, "no broker runs"},
		{"the quorum has no majority", func(w *world, s *Snapshot) {
			w.pods[1].state, w.pods[2].state = "CrashLoopBackOff", "Unschedulable"
			*s = w.snapshot()
		}, conditions.Available, conditions.NoQuorum, "its first voters: 0 out-of-quorum, 1 CrashLoopBackOff, 2 Unschedulable"},
		{"brokers cannot be asked", func(w *world, s *Snapshot) { w.blind = true; *s = w.snapshot() },
			conditions.Available, conditions.BrokersUnreachable, "connection refused"},
		{"pods are ready and cannot be asked", func(w *world, s *Snapshot) { w.blind = true; *s = w.snapshot() },
			conditions.BrokersReady, conditions.BrokersUnreachable, "broker 0: connection refused"},
		{"an action failed", func(_ *world, s *Snapshot) { s.Failures = []string{"delete pod a-0: forbidden"} },
			conditions.Progressing, conditions.ApplyFailed, "delete pod a-0: forbidden"},
		{"a setting is misspelt", func(_ *world, s *Snapshot) { s.Cluster.Spec.Config = map[string]string{"log.retension.ms": "1"} },
			conditions.ConfigValid, conditions.WithoutEffect, "no broker knows log.retension.ms"},
	} {
		w := converged(t, 3)
		s := w.snapshot()
		r.change(w, &s)
		p := Compute(s)
		c := conditions.Get(p.Status.Conditions, r.typ)
		if c == nil || c.Reason != string(r.reason) || !strings.Contains(c.Message, r.text) {
			t.Errorf("%s: %+v, want %s: %s", r.what, c, r.reason, r.text)
		}
		for _, a := range p.Actions {
			if Disruptive(a) {
				t.Errorf("%s: %s", r.what, a)
			}
		}
		s.Cluster.Status = p.Status
		s.Now = s.Now.Add(time.Hour)
		again := Compute(s)
		if c2 := conditions.Get(again.Status.Conditions, r.typ); *c2 != *c {
			t.Errorf("%s: the condition changes by itself: %+v, %+v", r.what, c, c2)
		}
	}
}

func (s *Snapshot) say(id int32, change func(*adminapi.Readiness)) {
	r, _ := s.Brokers[id].Get()
	change(&r)
	s.Brokers[id] = fact.Known(r)
}

func (s *Snapshot) metadata(change func(*Metadata)) {
	m, _ := s.Metadata.Get()
	change(&m)
	s.Metadata = fact.Known(m)
}

func TestRacks(t *testing.T) {
	w := converged(t, 3)
	w.racks["node-0"], w.racks["node-1"] = "x", "y"
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Rack = &v1alpha1.Rack{NodeLabel: "topology.kubernetes.io/zone"} })
	for range 60 {
		w.step()
	}
	// The pods that run already have racks; broker 2 is restarted and waits for its label.
	if w.c.Status.Brokers[0].Rack != "x" || w.reason(conditions.BrokersReady) != conditions.RackUnknown ||
		!strings.Contains(w.message(conditions.BrokersReady), "broker 2: node node-2 has no label topology.kubernetes.io/zone: the broker waits for its rack") {
		t.Fatal(w.summary())
	}
	w.racks["node-2"] = "z"
	w.run(patience)
	if w.c.Status.Brokers[2].Rack != "z" || len(w.restarts()) != 3 {
		t.Errorf("%v %s", w.restarts(), w.summary())
	}
	w.racks["node-2"] = "moved"
	for range 5 {
		w.step()
	}
	if w.c.Status.Brokers[2].Rack != "z" {
		t.Error("a broker's rack changed while it ran")
	}
}

func TestSettingsAreAlteredInRunningBrokersAndTakenBack(t *testing.T) {
	w := converged(t, 3)
	w.settings["log.cleaner.threads"] = "3" // by somebody else
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = map[string]string{"log.retention.ms": "1000"} })
	w.run(patience)
	if w.settings["log.retention.ms"] != "1000" {
		t.Errorf("%v", w.settings)
	}
	w.settings["log.retention.ms"] = "2000" // by somebody else
	w.run(patience)
	if w.settings["log.retention.ms"] != "1000" {
		t.Errorf("%v", w.settings)
	}
	// It is taken out while the brokers cannot be asked: it is not forgotten that it is to be taken back.
	w.blind = true
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = nil })
	for range 5 {
		w.step()
	}
	w.blind = false
	w.run(patience)
	if _, there := w.settings["log.retention.ms"]; there || w.settings["log.cleaner.threads"] != "3" || w.settings["min.insync.replicas"] != "2" || len(w.restarts()) != 0 {
		t.Errorf("%v, restarted %v", w.settings, w.restarts())
	}
}

func TestStateOfAPod(t *testing.T) {
	now := time.Unix(1e9, 0)
	ready := fact.Known(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	status := func(c corev1.ContainerStatus) *corev1.Pod {
		c.Name = desired.Container
		return &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "proxy"}, c}}}
	}
	waiting := func(reason, message string) *corev1.Pod {
		return status(corev1.ContainerStatus{Image: "i", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}})
	}
	ended := corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	again := func(age time.Duration, restarts int32) *corev1.Pod {
		return status(corev1.ContainerStatus{RestartCount: restarts, LastTerminationState: corev1.ContainerState{Terminated: &ended},
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-age))}}})
	}
	at := metav1.NewTime(now)
	for _, r := range []struct {
		what    string
		pod     *corev1.Pod
		kind    podKind
		failing bool
		name    string
		message string
	}{
		{"no pod", nil, missing, false, "Missing", "there is no pod"},
		{"nothing said yet", &corev1.Pod{}, starting, false, "Pending", "the pod is on its way"},
		{"being deleted", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &at}}, going, false, "Terminating", "the pod is being deleted"},
		{"evicted", &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on disk"}}, crashed, true, "Evicted", "the pod has ended, and is made again: low on disk"},
		{"being made", waiting("ContainerCreating", ""), starting, false, "ContainerCreating", "the container is being made"},
		{"an image is pulled", waiting("ErrImagePull", "rpc error: code = NotFound desc = i: not found"), stuck, true, "ImagePullBackOff", "image i cannot be pulled: i: not found"},
		{"an image is waited for", waiting("ImagePullBackOff", `Back-off pulling image "i": ErrImagePull: rpc error: code = NotFound desc = i: not found`), stuck, true, "ImagePullBackOff", "image i cannot be pulled: i: not found"},
		{"a wrong configuration", waiting("CreateContainerConfigError", "secret not found"), stuck, true, "CreateContainerConfigError", "secret not found"},
		{"it ended", status(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &ended}}), crashed, true, "OOMKilled", "OOMKilled, ended with exit code 137"},
		{"it runs again after crashes", again(time.Minute, 2), running, true, "CrashLoopBackOff", "OOMKilled, ended with exit code 137"},
		{"it runs long after crashes", again(crashWindow, 9), running, false, "Running", ""},
		{"it runs after one crash", again(time.Minute, 1), running, false, "Running", ""},
	} {
		s := stateOf(r.pod, ready, now)
		if s.kind != r.kind || s.failing != r.failing || s.name != r.name || s.message != r.message {
			t.Errorf("%s: %+v", r.what, s)
		}
	}
}

func TestALastWordIsOneLineAndBounded(t *testing.T) {
	if got := lastLines("a\n b\tc "); got != "a b c" {
		t.Errorf("%q", got)
	}
	if got := lastLines(strings.Repeat("ü", maxLastWord) + "end"); len(got) > maxLastWord+3 || !strings.HasSuffix(got, "end") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
