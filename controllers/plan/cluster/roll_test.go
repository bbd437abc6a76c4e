package cluster

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

func image(name string) func(*v1alpha1.ClusterSpec) {
	return func(s *v1alpha1.ClusterSpec) { s.Image = name }
}

func TestARollRestartsEachBrokerOnceAndTheLeaderOfTheQuorumLast(t *testing.T) {
	w := converged(t, 3)
	w.edit(image("fairlead:2"))
	w.run(patience)
	if got := strings.Join(w.restarts(), " "); got != "a-1 a-2 a-0" {
		t.Errorf("restarted: %s", got)
	}
	for id, p := range w.pods {
		if p.image != "fairlead:2" {
			t.Errorf("broker %d has %s", id, p.image)
		}
	}
}

func TestARestartIsRecordedBeforeItIsDone(t *testing.T) {
	w := converged(t, 3)
	w.edit(image("fairlead:2"))
	var recorded *v1alpha1.Operation
	for range 20 {
		p := w.step()
		if slices.ContainsFunc(p.Actions, Disruptive) {
			break
		}
		recorded = p.Status.Operation.DeepCopy()
		if recorded != nil && p.LookAgain != Soon {
			t.Errorf("the next look is after %v", p.LookAgain)
		}
	}
	if recorded == nil || recorded.Type != v1alpha1.Roll || recorded.Broker != 1 || len(w.restarts()) != 1 {
		t.Errorf("%+v, %v", recorded, w.restarts())
	}
}

func TestARollWaits(t *testing.T) {
	for _, r := range []struct {
		what string
		do   func(w *world)
		want string // in the message of Progressing
	}{
		{"while the verdict is no", func(w *world) { w.pods[0].lag, w.pods[1].lag, w.pods[2].lag = 1000, 1000, 1000 }, "not safe to stop 1: 1 in the way, first t-0 loses-acks"},
		{"while no broker can be asked", func(w *world) { w.blind = true }, "whether broker 0 may be stopped is not known: connection refused"},
		{"while a pod is missing", func(w *world) { delete(w.pods, 2); w.objects.StatefulSet.Spec.Template.Spec.Containers[0].Image = "x" }, "broker 2 is "},
		{"while another broker starts", func(w *world) { w.pods[2].age = -1000 }, ""},
	} {
		w := converged(t, 3)
		w.edit(func(s *v1alpha1.ClusterSpec) {})
		w.step()
		w.edit(image("fairlead:2"))
		w.step() // the objects
		w.c.Status.Operation = nil
		w.log = nil
		r.do(w)
		p := Compute(w.snapshot())
		for _, a := range p.Actions {
			if Disruptive(a) {
				t.Errorf("%s: %s", r.what, a)
			}
		}
		c := conditions.Get(p.Status.Conditions, conditions.Progressing)
		if p.Status.Operation != nil && r.want != "" || c.Reason != string(conditions.Rolling) || !strings.Contains(c.Message, r.want) {
			t.Errorf("%s: %s: %s, operation %+v", r.what, c.Reason, c.Message, p.Status.Operation)
		}
	}
}

func TestARecordedRestartIsDroppedWhenItsReasonsAreGone(t *testing.T) {
	for _, r := range []struct {
		what string
		do   func(w *world)
	}{
		{"the edit was taken back", func(w *world) { w.edit(image("")) }},
		{"it is no longer safe", func(w *world) { w.pods[0].lag, w.pods[2].lag = 1000, 1000 }},
		{"nobody can be asked", func(w *world) { w.blind = true }},
		{"another broker went away", func(w *world) { w.pods[2].going = true }},
	} {
		w := converged(t, 3)
		w.edit(image("fairlead:2"))
		for w.c.Status.Operation == nil {
			w.step()
		}
		w.log = nil
		r.do(w)
		p := w.step()
		if len(w.restarts()) != 0 || p.Status.Operation != nil {
			t.Errorf("%s: %v %+v", r.what, w.log, p.Status.Operation)
		}
	}
}

func TestC51ABadChangeStopsAtTheFirstPodAndIsCorrectedByAnEdit(t *testing.T) {
	for _, r := range []struct {
		what    string
		bad     func(w *world)
		state   string
		reason  conditions.Reason
		message string
	}{
		{"an image that does not exist", func(w *world) {
			w.bad["fairlead:none"] = "ErrImagePull"
			w.edit(image("fairlead:none"))
		}, "ImagePullBackOff", conditions.ImageUnavailable, "pod a-1: ImagePullBackOff: image fairlead:none cannot be pulled: not found"},
		{"a memory request that no node has", func(w *world) {
			w.edit(func(s *v1alpha1.ClusterSpec) {
				s.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("10Ti")}
			})
		}, "Unschedulable", conditions.PodUnschedulable, "pod a-1: Unschedulable: 0/3 nodes are available: 3 Insufficient memory."},
		{"a setting with which the broker ends", func(w *world) {
			w.bad["num.network.threads=77"] = "CrashLoopBackOff"
			w.bad["default.replication.factor=77"] = "CrashLoopBackOff"
			w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = map[string]string{"default.replication.factor": "77"} })
		}, "CrashLoopBackOff", conditions.PodFailed, "pod a-1: CrashLoopBackOff: ended with exit code 1: bad broker config: x"},
	} {
		w := converged(t, 3)
		r.bad(w)
		for range 30 {
			w.step()
		}
		if got := w.restarts(); len(got) != 1 || got[0] != "a-1" {
			t.Errorf("%s: restarted %v", r.what, got)
		}
		if w.reason(conditions.Ready) != r.reason || !strings.HasPrefix(w.message(conditions.Ready), r.message) ||
			w.reason(conditions.Progressing) != conditions.RollStopped || w.c.Status.Brokers[1].State != r.state {
			t.Errorf("%s: %s", r.what, w.summary())
		}
		w.log = nil
		w.edit(func(s *v1alpha1.ClusterSpec) { s.Image, s.Config, s.Resources = "", nil, corev1.ResourceRequirements{} })
		first := ""
		for range 4 {
			w.step()
			if got := w.restarts(); len(got) > 0 {
				first = got[0]
			}
		}
		if first != "a-1" {
			t.Errorf("%s: the corrected spec is not applied to the broken pod at once: %v", r.what, w.log)
		}
		w.run(patience)
		if got := w.restarts(); len(got) != 1 {
			t.Errorf("%s: restarted %v, needed was one", r.what, got)
		}
		if w.reason(conditions.Ready) != conditions.AsWanted {
			t.Errorf("%s: %s", r.what, w.summary())
		}
	}
}

func TestC51ASettingThatNoBrokerWouldTakeReachesNone(t *testing.T) {
	w := converged(t, 3)
	before := w.objects.ConfigMap.Data["broker.properties"]
	w.edit(func(s *v1alpha1.ClusterSpec) {
		s.Config = map[string]string{"num.partitions": "many", "default.replication.factor": "2"}
		s.Replicas = 4
	})
	for range 30 {
		w.step()
	}
	if w.objects.ConfigMap.Data["broker.properties"] != before || len(w.restarts()) != 0 || len(w.pods) != 4 {
		t.Errorf("other changes are to be applied, and the settings to stay: %d pods, restarted %v", len(w.pods), w.restarts())
	}
	if w.reason(conditions.Ready) != conditions.ConfigInvalid ||
		!strings.Contains(w.message(conditions.ConfigValid), "spec.config: num.partitions: Invalid value many for configuration num.partitions: Not a number of type INT") {
		t.Error(w.summary())
	}
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Config["num.partitions"] = "6" })
	w.step()
	if w.reason(conditions.ConfigValid) != conditions.Valid {
		t.Error(w.summary())
	}
	w.run(patience)
	if w.reason(conditions.Ready) != conditions.AsWanted || len(w.restarts()) != 4 {
		t.Errorf("%v %s", w.restarts(), w.summary())
	}
}

func TestANewClusterWithABadSettingIsNotMade(t *testing.T) {
	w := newWorld(t, 3)
	w.c.Spec.Config = map[string]string{"num.partitions": "many"}
	for range 5 {
		w.step()
	}
	if len(w.log) != 0 || w.c.Status.Quorum != nil || w.reason(conditions.Ready) != conditions.ConfigInvalid {
		t.Errorf("%v %s", w.log, w.summary())
	}
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = nil })
	w.run(patience)
}

// All brokers end with the settings that they have: nobody serves, nobody can be asked, and the edit must reach all of them.
func TestC51AnEditEndsATotalOutage(t *testing.T) {
	for _, state := range []string{"CrashLoopBackOff", "ErrImagePull", ""} {
		w := converged(t, 3)
		w.edit(image("fairlead:2"))
		for id := range w.pods {
			w.pods[id].state = state
			if state == "" {
				w.pods[id].loaded, w.pods[id].age = true, -1000 // it runs and never gets ready
			}
		}
		w.run(patience)
		if got := w.restarts(); len(got) != 3 {
			t.Errorf("%q: restarted %v", state, got)
		}
	}
}

func TestC50LabelsAndAnnotationsArePutOnInPlace(t *testing.T) {
	w := converged(t, 3)
	w.edit(func(s *v1alpha1.ClusterSpec) {
		s.PodTemplate.Labels = map[string]string{"team": "shop", "tier": "1"}
		s.PodTemplate.Annotations = map[string]string{"note": "x"}
	})
	w.pods[1].labels["sidecar"] = "injected"
	w.run(patience)
	w.edit(func(s *v1alpha1.ClusterSpec) {
		s.PodTemplate.Labels = map[string]string{"team": "other"}
		s.PodTemplate.Annotations = nil
	})
	w.run(patience)
	for id, p := range w.pods {
		_, tier := p.labels["tier"]
		_, note := p.annotations["note"]
		if p.labels["team"] != "other" || tier || note {
			t.Errorf("broker %d: %v %v", id, p.labels, p.annotations)
		}
	}
	if w.pods[1].labels["sidecar"] != "injected" || len(w.restarts()) != 0 {
		t.Errorf("%v, restarted %v", w.pods[1].labels, w.restarts())
	}
}

// Keys by which pods are known are not the user's: to put them on and take them off again would restart brokers for ever.
func TestC50KeysOfPodsThatAreNotTheUsers(t *testing.T) {
	w := converged(t, 3)
	for id := range int32(3) {
		w.racks[nodeName(id)] = "z"
	}
	reserved := map[string]string{
		desired.RestartHashAnnotation: "x", desired.RackAnnotation: "x", desired.PodKeysAnnotation: "x", "app.kubernetes.io/instance": "x",
		"apps.kubernetes.io/pod-index": "7", "statefulset.kubernetes.io/pod-name": "x", "controller-revision-hash": "x",
	}
	w.edit(func(s *v1alpha1.ClusterSpec) {
		s.Rack = &v1alpha1.Rack{NodeLabel: "topology.kubernetes.io/zone"}
		s.PodTemplate.Labels, s.PodTemplate.Annotations = reserved, reserved
	})
	w.run(patience)
	for id, p := range w.pods {
		for k := range reserved {
			if p.labels[k] == "x" || p.labels[k] == "7" || p.annotations[k] == "x" {
				t.Errorf("broker %d has %s of spec.podTemplate", id, k)
			}
		}
	}
}

func TestC50ForeignChangesThatDoNotMatterGiveNothing(t *testing.T) {
	w := converged(t, 3)
	w.c.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	w.objects.StatefulSet.Annotations["who"] = "somebody"
	w.objects.StatefulSet.Spec.Template.Labels["webhook"] = "x"
	for _, p := range w.pods {
		p.labels["webhook"] = "x"
	}
	if p := w.step(); !w.quiet(p) {
		t.Errorf("%v", p.Actions)
	}
}
