package oncall

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

const (
	namespace   = "default"
	clusterName = "demo"
	brokers     = 3
	partitions  = 12 // of the only topic, each with a replica on every broker
)

var (
	// made is when the cluster was made, night when something goes wrong.
	made  = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	night = time.Date(2026, 3, 14, 2, 47, 0, 0, time.UTC)
)

// scene is a Cluster with what the operator sees of it. Pods come as a StatefulSet makes them, and run at once unless fate says
// something else.
type scene struct {
	t       *testing.T
	now     time.Time
	cluster *v1alpha1.Cluster
	// original is the Cluster when all was well.
	original *v1alpha1.Cluster
	objects  cluster.Objects
	claims   []corev1.PersistentVolumeClaim
	pods     map[int32]*corev1.Pod
	nodes    map[int32]*corev1.Node // of each broker's pod
	events   []cluster.Event
	uids     int

	settings map[string]string // altered in the running brokers

	// fate is what becomes of a new pod: what schedulers and kubelets say of it. Nil: it runs.
	fate func(*corev1.Pod)
	// says changes what a broker says of itself, sees what the metadata say.
	says func(*adminapi.Readiness)
	sees func(*cluster.Metadata)
}

// newScene is a cluster of three brokers that has been well for days.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{
		t: t, now: made,
		cluster: &v1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName, UID: "cluster", Generation: 1},
			Spec: v1alpha1.ClusterSpec{
				Replicas: brokers, Image: "registry.example/fairlead:1.0.0",
				Storage: v1alpha1.Storage{Size: resource.MustParse("100Gi"), DeletionPolicy: v1alpha1.Retain},
				Config:  map[string]string{"log.retention.hours": "72"},
			},
		},
		pods: map[int32]*corev1.Pod{}, nodes: map[int32]*corev1.Node{}, settings: map[string]string{},
	}
	for id := range int32(brokers) {
		s.nodes[id] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "worker-" + strconv.Itoa(int(id)+1)},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}
	}
	s.settle()
	s.now, s.events, s.original = night, nil, s.cluster.DeepCopy()
	return s
}

// edit changes the spec as a user does.
func (s *scene) edit(change func(*v1alpha1.ClusterSpec)) {
	change(&s.cluster.Spec)
	s.cluster.Generation++
}

// settle plans and carries out until a plan has nothing more to do.
func (s *scene) settle() {
	s.t.Helper()
	const most = 60
	for range most {
		if !s.step() {
			return
		}
	}
	s.t.Fatalf("the operator does not come to rest: %+v", s.cluster.Status)
}

// step is one pass, and whether it changed anything.
func (s *scene) step() (changed bool) {
	p := cluster.Compute(s.snapshot())
	for _, a := range p.Actions {
		s.carryOut(a)
	}
	changed = len(p.Actions) > 0 || !equality.Semantic.DeepEqual(p.Status, s.cluster.Status)
	s.cluster.Status = *p.Status.DeepCopy()
	s.now = s.now.Add(max(time.Second, min(p.LookAgain, cluster.Busy)))
	return s.statefulSet() || changed
}

func (s *scene) carryOut(a cluster.Action) {
	switch a := a.(type) {
	case cluster.Apply:
		s.apply(a.Object)
	case cluster.DeletePod:
		maps.DeleteFunc(s.pods, func(_ int32, p *corev1.Pod) bool { return p.UID == a.UID })
	case cluster.Event:
		s.events = append(s.events, a)
	case cluster.MarkFormed:
		for i := range s.claims {
			if c := &s.claims[i]; c.UID == a.UID {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, desired.FormedAnnotation, desired.FormedMark)
			}
		}
	case cluster.AlterSettings:
		maps.Copy(s.settings, a.Set)
	default:
		s.t.Fatalf("no situation has %s", a)
	}
}

func (s *scene) apply(o desired.Object) {
	switch o := o.(type) {
	case *corev1.ServiceAccount:
		s.objects.ServiceAccount = o
	case *corev1.Service:
		if o.Name == desired.BrokersService(clusterName) {
			s.objects.BrokersService = o
		} else {
			s.objects.BootstrapService = o
		}
	case *corev1.ConfigMap:
		s.objects.ConfigMap = o
	case *policyv1.PodDisruptionBudget:
		s.objects.Budget = o
	case *appsv1.StatefulSet:
		s.objects.StatefulSet = o
	default:
		s.t.Fatalf("unknown object %T", o)
	}
}

// statefulSet makes the pods and claims that are not there.
func (s *scene) statefulSet() (changed bool) {
	set := s.objects.StatefulSet
	if set == nil {
		return false
	}
	for id := range *set.Spec.Replicas {
		if int(id) >= len(s.claims) {
			c := *set.Spec.VolumeClaimTemplates[0].DeepCopy()
			c.Name, c.Status.Phase, c.Status.Capacity = desired.Claim(clusterName, id), corev1.ClaimBound, c.Spec.Resources.Requests
			s.claims = append(s.claims, c)
		}
		if s.pods[id] == nil {
			s.pods[id], changed = s.pod(set, id), true
		}
	}
	return changed
}

func (s *scene) pod(set *appsv1.StatefulSet, id int32) *corev1.Pod {
	s.uids++
	p := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name, p.UID = namespace, desired.Pod(clusterName, id), types.UID(fmt.Sprintf("pod-%d", s.uids))
	p.Spec.NodeName = s.nodes[id].Name
	p.Status = corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: desired.Container, Image: p.Spec.Containers[0].Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.now)}},
		}},
	}
	if s.fate != nil {
		s.fate(p)
	}
	return p
}

// waits is the fate of a pod whose container cannot be made.
func waits(p *corev1.Pod, reason, message string) {
	p.Status.Phase, p.Status.Conditions[0].Status = corev1.PodPending, corev1.ConditionFalse
	c := &p.Status.ContainerStatuses[0]
	c.Ready, c.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// snapshot is what an observer sees.
func (s *scene) snapshot() cluster.Snapshot {
	snap := cluster.Snapshot{
		Now: s.now, Cluster: s.cluster, Objects: s.objects, Claims: s.claims,
		Fresh:   cluster.Identities{ClusterID: directory(9), DirectoryIDs: [cluster.MaxVoters]string{directory(0), directory(1), directory(2)}},
		Nodes:   map[string]fact.Fact[*corev1.Node]{},
		Brokers: map[int32]fact.Fact[adminapi.Readiness]{}, Verdicts: map[int32]fact.Fact[adminapi.Verdict]{},
		Settings: fact.Unknown[map[string]string]("no broker serves"), Metadata: fact.Unknown[cluster.Metadata]("no broker serves"),
	}
	var away []int32
	for id := range int32(brokers) {
		p := s.pods[id]
		if p == nil {
			away = append(away, id)
			continue
		}
		snap.Pods = append(snap.Pods, *p)
		snap.Nodes[s.nodes[id].Name] = fact.Known(s.nodes[id])
		snap.Brokers[id] = fact.Unknown[adminapi.Readiness]("connection refused")
		if p.Status.Conditions[0].Status != corev1.ConditionTrue {
			away = append(away, id)
			continue
		}
		snap.Brokers[id] = fact.Known(s.readiness(id))
	}
	if len(snap.Pods) > len(away) {
		snap.Settings, snap.Metadata = fact.Known(maps.Clone(s.settings)), fact.Known(s.metadata(away))
	}
	for _, id := range cluster.Candidates(snap) {
		snap.Verdicts[id] = fact.Known(adminapi.Verdict{Brokers: []int32{id}, Safe: len(away) == 0})
	}
	return snap
}

func (s *scene) readiness(id int32) adminapi.Readiness {
	r := adminapi.Readiness{
		NodeID: id, ClusterID: directory(9), DirectoryID: directory(int(id)), Phase: adminapi.Serving, Ready: true, BrokerEpoch: 7,
		IsQuorumLeader: id == 0, IsQuorumVoter: true, Replicas: partitions, LedPartitions: partitions / brokers, CaughtUp: true,
	}
	if s.says != nil {
		s.says(&r)
	}
	return r
}

// metadata is of a topic with replicas on all brokers, those that are away out of sync.
func (s *scene) metadata(away []int32) cluster.Metadata {
	m := cluster.Metadata{Partitions: partitions, Replicas: map[int32]int{}}
	for id := range int32(brokers) {
		m.Registered, m.Voters, m.Replicas[id] = append(m.Registered, id), append(m.Voters, id), partitions
	}
	if len(away) > 0 {
		m.UnderReplicated, m.UnderReplicatedExamples = partitions, examples(0, 1, 2)
	}
	if s.sees != nil {
		s.sees(&m)
	}
	return m
}

// examples name partitions of the topic.
func examples(partitions ...int) []string {
	var names []string
	for _, p := range partitions {
		names = append(names, topicName+"-"+strconv.Itoa(p))
	}
	return slices.Clip(names)
}

// directory is an identity as brokers write it.
func directory(n int) string {
	const digits = "ABCDEFGHIJ"
	return "d1CkkqM7QtGJ0bMdTgMr" + digits[n:n+1] + "g"
}
