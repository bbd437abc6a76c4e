package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

// world is a small model of Kubernetes and of a cluster's brokers: what a plan does to it, and what happens by itself in one tick.
type world struct {
	t       *testing.T
	now     time.Time
	c       *v1alpha1.Cluster
	objects Objects
	pods    map[int32]*modelPod
	claims  map[int32]*corev1.PersistentVolumeClaim
	class   storagev1.StorageClass
	racks   map[string]string // by node
	lost    map[int32]bool    // the node of the broker's pod does not answer
	bad     map[string]string // values of image, or of a setting, with which a broker does not run: the state of its pod
	blind   bool              // brokers cannot be asked

	registered map[int32]bool
	replicas   map[int32]int
	settings   map[string]string
	founded    bool
	uids       int
	log        []string // actions, as they were carried out
	generation int64
	checks     int
}

// modelPod is a pod with its broker.
type modelPod struct {
	uid                 types.UID
	labels, annotations map[string]string
	image               string
	going               bool
	age                 int    // ticks
	state               string // why the process does not run; empty if it does
	lag                 int    // ticks until it is in sync, once it serves
	loaded              bool   // it has the rack that it waits for
}

const (
	agesUntilReady = 2
	lagOfRestart   = 2
)

func newWorld(t *testing.T, brokers int32) *world {
	yes := true
	w := &world{
		t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC),
		c: &v1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "c", Generation: 1},
			Spec:       v1alpha1.ClusterSpec{Replicas: brokers, Storage: v1alpha1.Storage{Size: resource.MustParse("1Gi"), DeletionPolicy: v1alpha1.Retain}},
		},
		pods: map[int32]*modelPod{}, claims: map[int32]*corev1.PersistentVolumeClaim{},
		class: storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, AllowVolumeExpansion: &yes},
		racks: map[string]string{}, lost: map[int32]bool{}, bad: map[string]string{},
		registered: map[int32]bool{}, replicas: map[int32]int{}, settings: map[string]string{},
	}
	return w
}

// edit changes the spec as a user does.
func (w *world) edit(change func(*v1alpha1.ClusterSpec)) {
	change(&w.c.Spec)
	w.c.Generation++
}

// run plays until nothing changes any more, within the steps, and gives the last plan.
func (w *world) run(steps int) Plan {
	w.t.Helper()
	for range steps {
		p := w.step()
		if w.quiet(p) {
			return p
		}
	}
	w.t.Fatalf("not quiet after %d steps: %s", steps, w.summary())
	return Plan{}
}

// quiet tells whether the plan does nothing and neither the status nor the world will change by themselves.
func (w *world) quiet(p Plan) bool {
	return len(p.Actions) == 0 && p.LookAgain == Steady && equality.Semantic.DeepEqual(p.Status, w.c.Status)
}

// step plans, carries out and lets a tick pass.
func (w *world) step() Plan {
	w.t.Helper()
	s := w.snapshot()
	p := Compute(s)
	w.check(s, p)
	before := w.c.Status.Operation
	disruptive := 0
	for _, a := range p.Actions {
		w.log = append(w.log, a.String())
		if Disruptive(a) {
			disruptive++
			if before == nil {
				w.t.Fatalf("%s without a record", a)
			}
		}
		w.apply(a)
	}
	if disruptive > 1 {
		w.t.Fatalf("%d disruptive actions in one plan: %v", disruptive, p.Actions)
	}
	w.c.Status = *p.Status.DeepCopy()
	w.tick()
	return p
}

// check holds what is true of every plan.
func (w *world) check(s Snapshot, p Plan) {
	w.t.Helper()
	if w.checks++; w.checks%4 == 0 {
		if again := Compute(s); !equality.Semantic.DeepEqual(p, again) {
			w.t.Fatalf("two plans of one snapshot differ:\n%+v\n%+v", p, again)
		}
	}
	if p.LookAgain <= 0 {
		w.t.Fatalf("no next look: %+v", p)
	}
	for _, a := range p.Actions {
		if a.String() == "" {
			w.t.Fatalf("%T without words", a)
		}
		if d, ok := a.(DeletePod); ok {
			id, _ := desired.PodBroker("a", d.Name)
			v, known := s.Verdicts[id].Get()
			if w.quorum() && w.pods[id].serving() && !(known && v.Safe) {
				w.t.Fatalf("%s, which serves and whose verdict is %+v", a, v)
			}
		}
		if s, ok := a.(ScaleIn); ok && (w.replicas[*s.StatefulSet.Spec.Replicas] > 0 || w.votes(*s.StatefulSet.Spec.Replicas)) {
			w.t.Fatalf("%s, which holds something", a)
		}
	}
}

// quorum tells whether a majority of the voters runs.
func (w *world) quorum() bool { return w.leader() >= 0 }

// leader is the lowest voter that runs, if a majority does.
func (w *world) leader() int32 {
	q := w.c.Status.Quorum
	if q == nil {
		return -1
	}
	running, leader := 0, int32(-1)
	for _, v := range q.Voters {
		if p := w.pods[v.ID]; p != nil && !p.going && p.state == "" && p.loaded && p.age > 0 && !w.lost[v.ID] {
			if running++; leader < 0 {
				leader = v.ID
			}
		}
	}
	if running <= len(q.Voters)/2 {
		return -1
	}
	return leader
}

func (w *world) votes(id int32) bool {
	return w.c.Status.Quorum != nil && slices.ContainsFunc(w.c.Status.Quorum.Voters, func(v v1alpha1.Voter) bool { return v.ID == id })
}

func (p *modelPod) serving() bool { return p.state == "" && !p.going && p.age >= agesUntilReady }

// safe is the verdict: all other brokers that hold something are in sync, and a majority of voters is left.
func (w *world) safe(stop int32) bool {
	left := 0
	for _, v := range w.c.Status.Quorum.Voters {
		if p := w.pods[v.ID]; v.ID != stop && p != nil && p.serving() && !w.lost[v.ID] {
			left++
		}
	}
	voters := len(w.c.Status.Quorum.Voters)
	for id, n := range w.replicas {
		if p := w.pods[id]; n > 0 && id != stop && (p == nil || !p.serving() || p.lag > 0 || w.lost[id]) && w.replicas[stop] > 0 {
			return false
		}
	}
	return voters < 3 || left > voters/2
}

func (w *world) summary() string {
	s := ""
	for _, c := range w.c.Status.Conditions {
		s += "\n" + c.Type + " " + c.Reason + ": " + c.Message
	}
	for _, b := range w.c.Status.Brokers {
		s += fmt.Sprintf("\nbroker %d %s %s", b.ID, b.State, b.Message)
	}
	return fmt.Sprintf("%s\noperation %+v\nactions %q", s, w.c.Status.Operation, w.log[max(0, len(w.log)-10):])
}

// observe answers of brokers as facts.
func known[T any](w *world, v T) fact.Fact[T] {
	if w.blind {
		return fact.Unknown[T]("connection refused")
	}
	return fact.Known(v)
}

// readiness is what a broker says of itself.
func (w *world) readiness(id int32, p *modelPod) adminapi.Readiness {
	r := adminapi.Readiness{
		NodeID: id, ClusterID: w.c.Status.Quorum.ClusterID, DirectoryID: fmt.Sprintf("dir-%d", id), Phase: adminapi.Joining, Reason: "not registered yet",
		BrokerEpoch: -1, IsQuorumLeader: w.leader() == id,
	}
	switch {
	case !p.loaded:
		r.Phase, r.Reason = adminapi.Starting, "waiting for /etc/podinfo/rack to be filled"
	case w.quorum() && p.serving():
		r.Phase, r.Reason, r.Ready, r.BrokerEpoch, r.CaughtUp = adminapi.Serving, "", true, 7, p.lag == 0
	case p.age >= agesUntilReady:
		r.Phase, r.Reason = adminapi.OutOfQuorum, "the metadata quorum cannot be reached"
	}
	return r
}
