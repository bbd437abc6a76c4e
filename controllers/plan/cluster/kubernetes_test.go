package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/controllers/desired"
)

// apply is what an action does to the world.
func (w *world) apply(a Action) {
	switch a := a.(type) {
	case Apply:
		w.applyObject(a.Object)
	case ScaleIn:
		w.applyObject(a.StatefulSet)
	case DeletePod:
		for _, p := range w.pods {
			if p.uid == a.UID {
				p.going = true
			}
		}
	case PatchPod:
		for _, p := range w.pods {
			if p.uid == a.UID {
				patch(p.labels, a.Labels)
				patch(p.annotations, a.Annotations)
			}
		}
	case GrowClaim:
		id, _ := desired.ClaimBroker("a", a.Name)
		c := w.claims[id]
		if have := c.Spec.Resources.Requests[corev1.ResourceStorage]; have.Cmp(a.Size) > 0 {
			w.t.Fatalf("%s has %s", a, have.String())
		}
		c.Spec.Resources.Requests[corev1.ResourceStorage] = a.Size
	case DeleteClaim:
		id, _ := desired.ClaimBroker("a", a.Name)
		if w.pods[id] != nil || w.replicas[id] > 0 {
			w.t.Fatalf("%s, which is in use", a)
		}
		delete(w.claims, id)
	case MarkFormed:
		id, _ := desired.ClaimBroker("a", a.Name)
		w.claims[id].Annotations[desired.FormedAnnotation] = desired.FormedMark
	case OrphanStatefulSet:
		w.objects.StatefulSet = nil
	case AlterSettings:
		if !w.quorum() {
			return
		}
		maps.Copy(w.settings, a.Set)
		for _, name := range a.Delete {
			delete(w.settings, name)
		}
	case UnregisterBroker:
		if w.replicas[a.ID] == 0 && w.pods[a.ID] == nil {
			delete(w.registered, a.ID)
		}
	case Event:
	default:
		w.t.Fatalf("unknown action %T", a)
	}
}

func patch(m map[string]string, p map[string]*string) {
	for k, v := range p {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = *v
		}
	}
}

func (w *world) applyObject(o desired.Object) {
	w.generation++
	o = o.DeepCopyObject().(desired.Object)
	o.SetResourceVersion(fmt.Sprint(w.generation))
	switch o := o.(type) {
	case *corev1.ServiceAccount:
		w.objects.ServiceAccount = o
	case *corev1.Service:
		if o.Name == desired.BrokersService("a") {
			w.objects.BrokersService = o
		} else {
			w.objects.BootstrapService = o
		}
	case *corev1.ConfigMap:
		w.objects.ConfigMap = o
	case *policyv1.PodDisruptionBudget:
		w.objects.Budget = o
	case *appsv1.StatefulSet:
		old := w.objects.StatefulSet
		if old != nil && !equality.Semantic.DeepEqual(old.Spec.VolumeClaimTemplates, o.Spec.VolumeClaimTemplates) {
			w.t.Fatal("an apply changes the volume template, which Kubernetes forbids")
		}
		o.UID = "sts-" + types.UID(fmt.Sprint(w.generation))
		if old != nil {
			o.UID = old.UID
		}
		w.objects.StatefulSet = o
	default:
		w.t.Fatalf("unknown object %T", o)
	}
}

// tick is what happens by itself.
func (w *world) tick() {
	w.now = w.now.Add(5 * time.Second)
	w.statefulSet()
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[id]
		if w.lost[id] {
			continue
		}
		if p.going {
			delete(w.pods, id)
			continue
		}
		p.loaded = w.c.Spec.Rack == nil || p.annotations[desired.RackAnnotation] != ""
		if p.state != "" || !p.loaded {
			continue
		}
		p.age++
		if w.quorum() {
			w.founded = true
			w.registered[id] = w.registered[id] || p.age >= agesUntilReady
			if p.serving() && p.lag > 0 {
				p.lag--
			}
		}
	}
	for _, c := range w.claims {
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]}
		c.Status.Phase = corev1.ClaimBound
	}
}

// statefulSet makes pods and claims.
func (w *world) statefulSet() {
	s := w.objects.StatefulSet
	if s == nil || w.objects.ConfigMap == nil {
		return // without it no container is made
	}
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		if id >= *s.Spec.Replicas {
			w.pods[id].going = true
		}
	}
	for id := range *s.Spec.Replicas {
		if w.claims[id] == nil {
			c := s.Spec.VolumeClaimTemplates[0].DeepCopy()
			disk := "disk"
			c.Name, c.UID, c.Spec.StorageClassName = desired.Claim("a", id), w.uid(), &disk
			c.Status.Phase = corev1.ClaimPending
			w.claims[id] = c
		}
		if w.pods[id] != nil {
			continue
		}
		t := s.Spec.Template
		p := &modelPod{uid: w.uid(), labels: maps.Clone(t.Labels), annotations: maps.Clone(t.Annotations), image: t.Spec.Containers[0].Image, lag: lagOfRestart}
		p.state = w.bad[p.image]
		if m := t.Spec.Containers[0].Resources.Requests.Memory(); m.Cmp(resource.MustParse("1Ti")) > 0 {
			p.state = "Unschedulable"
		}
		if file, err := desired.FileSettings(w.objects.ConfigMap); err == nil {
			for name, value := range file {
				if why := w.bad[name+"="+value]; why != "" {
					p.state = why
				}
			}
		}
		w.pods[id] = p
	}
}

func (w *world) uid() types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("u%d", w.uids))
}
