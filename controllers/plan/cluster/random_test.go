package cluster

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

var (
	seeds = flag.Int("seeds", 12, "random histories to play")
	seed  = flag.Uint64("seed", 0, "the first of them")
)

// storm is a random history: edits by a user, faults of the world, and an operator that is broken off.
type storm struct {
	*world
	r *rand.Rand
}

const stormSteps = 50

// Whatever happened, when it is over the cluster is as wanted within a bounded number of plans. On the way no plan breaks the rules that
// [world.check] and [world.step] hold.
func TestRandomHistoriesConverge(t *testing.T) {
	for i := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed ", *seed+i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(*seed+i, 1))
			s := storm{newWorld(t, []int32{1, 3, 5}[r.IntN(3)]), r}
			for range stormSteps {
				if r.IntN(3) == 0 {
					s.event()
				}
				s.unknown()
				if r.IntN(6) == 0 {
					s.brokenOff()
				} else {
					s.step()
				}
			}
			s.calm()
			for range 400 {
				if p := s.step(); len(p.Actions) == 0 && s.reason(conditions.Ready) == conditions.AsWanted && p.Status.Operation == nil {
					return
				}
			}
			t.Fatal(s.summary())
		})
	}
}

// event is an edit or a fault.
func (s storm) event() {
	r := s.r
	id := r.Int32N(6)
	p := s.pods[id]
	switch r.IntN(16) {
	case 0:
		s.edit(image(fmt.Sprintf("fairlead:%d", r.IntN(3)+1)))
	case 1:
		s.bad["fairlead:bad"] = []string{"ErrImagePull", "CrashLoopBackOff", "Unschedulable"}[r.IntN(3)]
		s.edit(image("fairlead:bad"))
	case 2:
		s.edit(replicas(r.Int32N(6) + 1))
	case 3:
		s.edit(func(c *v1alpha1.ClusterSpec) {
			c.Config = map[string]string{"default.replication.factor": fmt.Sprint(r.IntN(3) + 1), "log.retention.ms": fmt.Sprint(r.IntN(3) * 1000)}
		})
	case 4:
		s.edit(func(c *v1alpha1.ClusterSpec) { c.Config = map[string]string{"num.partitions": "many"} })
	case 5:
		s.edit(func(c *v1alpha1.ClusterSpec) { c.PodTemplate.Labels = map[string]string{"team": fmt.Sprint(r.IntN(3))} })
	case 6:
		s.edit(func(c *v1alpha1.ClusterSpec) {
			c.Storage.Size.Add(resource.MustParse("1Gi"))
			c.Storage.DeletionPolicy = []v1alpha1.DeletionPolicy{v1alpha1.Retain, v1alpha1.Delete}[r.IntN(2)]
		})
	case 7:
		s.edit(func(c *v1alpha1.ClusterSpec) { c.Paused = !c.Paused })
	case 8:
		if p != nil {
			p.state = "CrashLoopBackOff"
		}
	case 9:
		if p != nil {
			p.going = true
		}
	case 10:
		s.lost[id] = !s.lost[id]
	case 11:
		s.blind = !s.blind
	case 12:
		if p != nil && p.serving() {
			p.lag = r.IntN(20)
		}
	case 13:
		if s.registered[id] {
			s.replicas[id] = r.IntN(3)
		}
	case 14:
		s.edit(func(c *v1alpha1.ClusterSpec) {
			if c.Rack = nil; r.IntN(2) == 0 {
				c.Rack = &v1alpha1.Rack{NodeLabel: "topology.kubernetes.io/zone"}
				s.racks[nodeName(id)] = "z"
			}
		})
	case 15:
		if p != nil && p.state != "" && s.bad[p.image] == "" {
			p.state = "" // it comes up by itself
		}
	}
}

// brokenOff is an operator that ends in the middle of a plan, or is refused something: some actions are done, and the status is not written.
func (s storm) brokenOff() {
	p := Compute(s.snapshot())
	for _, a := range p.Actions {
		if s.r.IntN(2) == 0 {
			s.apply(a)
		}
	}
	s.tick()
}

// calm ends all faults and leaves a spec that can be had.
func (s storm) calm() {
	s.blind = false
	clear(s.lost)
	clear(s.bad)
	founders := int32(1)
	if q := s.c.Status.Quorum; q != nil {
		founders = int32(len(q.Voters))
	}
	s.edit(func(c *v1alpha1.ClusterSpec) {
		c.Paused, c.Config, c.Image = false, map[string]string{"log.retention.ms": "5000"}, "fairlead:9"
		c.Replicas = max(founders, c.Replicas)
	})
	for id := range int32(10) {
		s.racks[nodeName(id)] = "z"
		if id >= s.c.Spec.Replicas {
			delete(s.replicas, id) // somebody moves the replicas away
		}
	}
}

// unknown is the property that what is not known allows nothing: no broker that may be running is stopped or taken away.
func (s storm) unknown() {
	s.t.Helper()
	snapshot := s.snapshot()
	snapshot.Brokers, snapshot.Verdicts = map[int32]fact.Fact[adminapi.Readiness]{}, map[int32]fact.Fact[adminapi.Verdict]{}
	snapshot.Settings, snapshot.Metadata = fact.Unknown[map[string]string]("x"), fact.Unknown[Metadata]("x")
	snapshot.StorageClasses, snapshot.Nodes = fact.Unknown[[]storagev1.StorageClass]("x"), map[string]fact.Fact[*corev1.Node]{}
	if ids := Candidates(snapshot); len(ids) > 0 && slices.ContainsFunc(ids, func(id int32) bool { return s.pods[id] == nil }) {
		s.t.Fatalf("verdicts of %v are asked for", ids)
	}
	for _, a := range Compute(snapshot).Actions {
		switch a := a.(type) {
		case ScaleIn, UnregisterBroker, DeleteClaim, GrowClaim, AlterSettings:
			s.t.Fatalf("nothing is known, and the plan has: %s", a)
		case DeletePod:
			for _, p := range s.pods {
				if p.uid == a.UID && p.state == "" {
					s.t.Fatalf("nothing is known, and the plan has: %s", a)
				}
			}
		}
	}
}
