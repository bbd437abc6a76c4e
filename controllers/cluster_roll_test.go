package controllers

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/test/kubetest"
)

// needsRestart is a setting that brokers read when they start.
const needsRestart = "socket.request.max.bytes"

// A setting that needs it restarts every broker once, one at a time, each when all others are in sync, the leader of the quorum last.
func TestRoll(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 3)
	s.awaitReady("c")
	before := s.uids("c")
	leader := s.double("c").leaderNow()

	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{needsRestart: "50000000"} })
	s.awaitReady("c")
	stops, violations := s.double("c").stopped()
	if len(stops) != 3 || stops[2] != leader || len(violations) > 0 {
		t.Errorf("brokers were stopped in the order %v, the leader was %d; %v", stops, leader, violations)
	}
	for name, uid := range s.uids("c") {
		if before[name] == uid {
			t.Errorf("%s was not replaced", name)
		}
	}
	if c := s.get("c"); c.Status.Operation != nil {
		t.Errorf("left over: %s", describe(c))
	}
}

// A setting that brokers take while they run restarts none of them.
func TestLiveSettings(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 3)
	s.awaitReady("c")
	before := s.uids("c")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{"log.retention.ms": "1000"} })
	s.awaitReady("c")
	s.awaitSetting("c", "log.retention.ms", "1000")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = nil })
	s.awaitReady("c")
	s.awaitSetting("c", "log.retention.ms", "")
	s.sameUIDs("c", before)
}

func (s *stage) awaitSetting(cluster, name, want string) {
	s.Helper()
	kubetest.Await(s.T, limit, func() error {
		all, err := s.double(cluster).ClusterSettings(s.Context())
		if err == nil && all[name] != want {
			err = fmt.Errorf("%s is %q, want %q", name, all[name], want)
		}
		return err
	})
}

// The next broker is not stopped before the one before is in sync again; an operator that is started anew goes on where the last one was.
func TestOperatorRestartsInTheMiddleOfARoll(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	stop := s.operator()
	s.cluster("c", 3)
	s.awaitReady("c")
	d := s.double("c")
	d.do(nil, func(d *double) { d.behind[1] = true }) // it will not catch up when it comes back, or ever was
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{needsRestart: "50000000"} })
	s.awaitCondition("c", "Progressing", metav1.ConditionTrue, string(conditions.Rolling), "")
	// Only broker 1 itself may be stopped: all others are in sync.
	kubetest.Await(t, limit, func() error {
		if stops, _ := d.stopped(); !slices.Equal(stops, []int32{1}) {
			return fmt.Errorf("stopped: %v", stops)
		}
		return nil
	})
	kubetest.Await(t, limit, func() error {
		if o := s.get("c").Status.Operation; o == nil || o.Type != v1alpha1.Roll || o.Broker != 1 {
			return fmt.Errorf("operation %+v", o)
		}
		return nil
	})
	stop()
	s.operator()
	s.awaitPasses("c", 5)
	if stops, _ := d.stopped(); !slices.Equal(stops, []int32{1}) {
		t.Errorf("the second operator stopped %v before broker 1 was in sync", stops)
	}
	d.do(nil, func(d *double) { d.behind[1] = false })
	s.awaitReady("c")
	stops, violations := d.stopped()
	if slices.Sort(stops); !slices.Equal(stops, []int32{0, 1, 2}) || len(violations) > 0 {
		t.Errorf("stopped: %v; %v", stops, violations)
	}
}

// A change with which a broker does not start takes one broker alone, is named, and is undone at that broker by the next edit.
func TestC51ABadChangeIsRepairedByTheNextEdit(t *testing.T) {
	for _, r := range []struct {
		what, state, cause string
		reason             conditions.Reason
		worsen             func(*v1alpha1.ClusterSpec)
	}{
		{"an image that does not exist", "ImagePullBackOff", "cannot be pulled", conditions.ImageUnavailable, func(c *v1alpha1.ClusterSpec) { c.Image = "bad:image" }},
		{"more memory than any node has", "Unschedulable", "Insufficient memory", conditions.PodUnschedulable, func(c *v1alpha1.ClusterSpec) {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("10Ti")}
		}},
	} {
		t.Run(r.what, func(t *testing.T) {
			s := newStage(t)
			s.clusterWide()
			s.operator()
			c := s.cluster("c", 3)
			good := c.Spec
			s.awaitReady("c")
			before := s.uids("c")
			s.double("c").do(nil, func(d *double) { d.badImages["bad:image"] = true })
			s.edit("c", func(c *v1alpha1.Cluster) { r.worsen(&c.Spec) })
			s.awaitCondition("c", "BrokersReady", metav1.ConditionFalse, string(r.reason), r.cause)
			c = s.awaitCondition("c", "Progressing", metav1.ConditionFalse, string(conditions.RollStopped), "")
			s.awaitPasses("c", 5)
			broken := s.changed(before, s.uids("c"))
			if len(broken) != 1 {
				t.Fatalf("pods that were replaced: %v", broken)
			}
			if i := slices.IndexFunc(c.Status.Brokers, func(b v1alpha1.BrokerStatus) bool { return b.Pod == broken[0] }); i < 0 || c.Status.Brokers[i].State != r.state {
				t.Errorf("the status does not name pod %s with %s: %s", broken[0], r.state, describe(c))
			}

			s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Image, c.Spec.Resources = good.Image, good.Resources })
			s.awaitReady("c")
			if again := s.changed(before, s.uids("c")); !slices.Equal(again, broken) {
				t.Errorf("replaced were %v, broken was %v", again, broken)
			}
			if stops, violations := s.double("c").stopped(); len(stops) != 1 || len(violations) > 0 {
				t.Errorf("running brokers that were stopped: %v; %v", stops, violations)
			}
		})
	}
}

// While paused nothing is restarted and nothing written but the status.
func TestPaused(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 3)
	s.awaitReady("c")
	before := s.uids("c")
	s.edit("c", func(c *v1alpha1.Cluster) {
		c.Spec.Paused, c.Spec.Config = true, map[string]string{needsRestart: "50000000"}
	})
	s.awaitCondition("c", "Paused", metav1.ConditionTrue, string(conditions.PausedByUser), "")
	s.idle("c")
	s.sameUIDs("c", before)
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Paused = false })
	s.awaitReady("c")
	if stops, violations := s.double("c").stopped(); len(stops) != 3 || len(violations) > 0 {
		t.Errorf("stopped after the pause: %v; %v", stops, violations)
	}
}

// uids are those of the Cluster's pods, by name.
func (s *stage) uids(cluster string) map[string]types.UID {
	s.Helper()
	uids := map[string]types.UID{}
	for name, p := range s.pods(cluster) {
		uids[name] = p.UID
	}
	return uids
}

func (s *stage) sameUIDs(cluster string, before map[string]types.UID) {
	s.Helper()
	if c := s.changed(before, s.uids(cluster)); len(c) > 0 {
		s.Errorf("pods that were replaced: %v", c)
	}
}

// changed names the pods that are another one than before, or gone.
func (s *stage) changed(before, now map[string]types.UID) []string {
	var names []string
	for name, uid := range before {
		if now[name] != uid {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stopped are the running brokers that were stopped, in order, and which of that the cluster could not spare.
func (c *double) stopped() (stops []int32, violations []string) {
	c.do(nil, func(c *double) { stops, violations = slices.Clone(c.stops), slices.Clone(c.violations) })
	return stops, violations
}

func (c *double) leaderNow() (id int32) {
	c.do(nil, func(c *double) { id = c.leader })
	return id
}
