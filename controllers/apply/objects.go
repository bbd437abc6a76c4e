package apply

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

const (
	owner      = client.FieldOwner(desired.FieldOwner)
	mergePatch = types.MergePatchType
	orphan     = client.PropagationPolicy(metav1.DeletePropagationOrphan)
)

// apply makes an object so. Server-side apply would take over whatever has the name, so it is looked first whose it is.
func (a *Applier) apply(ctx context.Context, c *v1alpha1.Cluster, want desired.Object) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: want.GetNamespace(), Name: want.GetName()}, live)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case !metav1.IsControlledBy(live, c):
		return fmt.Errorf("an object of this name is there and belongs to %s: delete it, or name the Cluster otherwise", belongsTo(live))
	case live.DeletionTimestamp != nil:
		return fmt.Errorf("the one that is there is being deleted")
	}
	body, err := patchOf(want)
	if err != nil {
		return err
	}
	object, ok := want.DeepCopyObject().(client.Object) // takes the server's answer
	if !ok {
		return fmt.Errorf("%T is no object", want)
	}
	return a.Writer.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, body), owner, client.ForceOwnership)
}

func belongsTo(o metav1.Object) string {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return fmt.Sprintf("%s %s (UID %s)", ref.Kind, ref.Name, ref.UID)
	}
	return "somebody else"
}

// patchOf is the object as it is applied: without a status, which is not the operator's to own.
func patchOf(want desired.Object) ([]byte, error) {
	body, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	return json.Marshal(fields)
}

// delete deletes the object that has this UID.
func (a *Applier) delete(ctx context.Context, object client.Object, uid types.UID, opts ...client.DeleteOption) error {
	return goneIsDone(a.Writer.Delete(ctx, object, append(opts, client.Preconditions{UID: &uid})...))
}

// grow asks for a larger volume, on the claim that has this UID.
func (a *Applier) grow(ctx context.Context, c *v1alpha1.Cluster, g cluster.GrowClaim) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": g.UID},
		"spec":     map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": g.Size.String()}}},
	})
	if err != nil {
		return err
	}
	return goneIsDone(a.Writer.Patch(ctx, claim(c, g.Name), client.RawPatch(mergePatch, body), owner))
}

// mark puts on the claim that has this UID that its quorum was formed.
func (a *Applier) mark(ctx context.Context, c *v1alpha1.Cluster, m cluster.MarkFormed) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": m.UID, "annotations": map[string]any{desired.FormedAnnotation: desired.FormedMark}},
	})
	if err != nil {
		return err
	}
	return goneIsDone(a.Writer.Patch(ctx, claim(c, m.Name), client.RawPatch(mergePatch, body), owner))
}

// goneIsDone takes the answers "not there" and "another UID" for success.
func goneIsDone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func pod(c *v1alpha1.Cluster, name string) client.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
}

func claim(c *v1alpha1.Cluster, name string) client.Object {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
}

func statefulSet(c *v1alpha1.Cluster, name string) client.Object {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
}
