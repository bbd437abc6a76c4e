package kubetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// runs is a test's part in which all containers run.
type runs struct {
	mu    sync.Mutex
	ended map[types.UID]bool
}

func (*runs) State(*corev1.Pod) State { return State{Ready: true} }

func (r *runs) Ended(p *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[p.UID] = true
}

// A set has ready pods and bound claims; a deleted pod comes back as another one with its claim; pods outlive a set that lets them go.
func TestWorkloads(t *testing.T) {
	cfg := Server(t)
	c := Client(t, cfg)
	ns := Namespace(t, c)
	pods := &runs{ended: map[types.UID]bool{}}
	StartWorkloads(t, cfg, pods)
	set := newSet(ns)
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	get := func(name string) (*corev1.Pod, error) {
		p := &corev1.Pod{}
		err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, p)
		return p, err
	}
	ready := func(name string, not types.UID) types.UID {
		var uid types.UID
		Await(t, 30*time.Second, func() error {
			p, err := get(name)
			if err == nil && (p.UID == not || p.Status.Phase != corev1.PodRunning || p.Spec.NodeName == "" || metav1.GetControllerOf(p) == nil) {
				err = fmt.Errorf("%s is %s on %q", name, p.Status.Phase, p.Spec.NodeName)
			}
			uid = p.UID
			return err
		})
		return uid
	}
	first, other := ready("s-0", ""), ready("s-1", "")
	claim := &corev1.PersistentVolumeClaim{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "data-s-0"}, claim); err != nil || claim.Status.Phase != corev1.ClaimBound {
		t.Errorf("claim is %q, %v", claim.Status.Phase, err)
	}
	if err := c.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s-0"}}); err != nil {
		t.Fatal(err)
	}
	second := ready("s-0", first)
	pods.mu.Lock()
	if !pods.ended[first] || len(pods.ended) != 1 {
		t.Errorf("ended: %v", pods.ended)
	}
	pods.mu.Unlock()

	if err := c.Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	Await(t, 30*time.Second, func() error {
		if err := c.Create(t.Context(), newSet(ns)); err != nil {
			return err
		}
		return nil
	})
	if again := ready("s-0", ""); again != second {
		t.Error("pod s-0 did not outlive its set")
	}
	if again := ready("s-1", ""); again != other {
		t.Error("pod s-1 did not outlive its set")
	}
}

func newSet(ns string) *appsv1.StatefulSet {
	two := int32(2)
	labels := map[string]string{setLabel: "s"}
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}, Spec: appsv1.StatefulSetSpec{
		Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: labels}, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}},
	}}
}
