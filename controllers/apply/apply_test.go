package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// world takes down what is asked of it, and answers with the errors that a test wants.
type world struct {
	client.Writer
	client.Reader
	calls  []string
	errors map[string]error                         // by the beginning of a call
	live   map[string]*metav1.PartialObjectMetadata // by name
}

func (w *world) call(format string, args ...any) error {
	c := fmt.Sprintf(format, args...)
	w.calls = append(w.calls, c)
	for begin, err := range w.errors {
		if strings.HasPrefix(c, begin) {
			return err
		}
	}
	return nil
}

func (w *world) Patch(_ context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	body, err := p.Data(o)
	if err != nil {
		return err
	}
	var options client.PatchOptions
	options.ApplyOptions(opts)
	force := options.Force != nil && *options.Force
	return w.call("%s %T %s by %s, force %v: %s", p.Type(), o, o.GetName(), options.FieldManager, force, body)
}

func (w *world) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	policy := ""
	if options.PropagationPolicy != nil {
		policy = " " + string(*options.PropagationPolicy)
	}
	return w.call("delete %T %s/%s %s%s", o, o.GetNamespace(), o.GetName(), *options.Preconditions.UID, policy)
}

func (w *world) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	m := w.live[key.Name]
	if m == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	m.DeepCopyInto(o.(*metav1.PartialObjectMetadata))
	return nil
}

func (w *world) AlterClusterSettings(_ context.Context, c brokerclient.SettingsChange) error {
	return w.call("alter %v %v", c.Set, c.Remove)
}

func (w *world) Unregister(_ context.Context, id int32) error { return w.call("unregister %d", id) }

func (w *world) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	_ = w.call("event %s %s %T %s", eventType, reason, regarding, fmt.Sprintf(note, args...))
}

func (w *world) applier() *Applier {
	return &Applier{Writer: w, Live: w, Events: w, Kafka: func(*v1alpha1.Cluster) (Kafka, error) { return w, nil }}
}

var c = &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "cluster"}}

func files() *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c-config"}, Data: map[string]string{"k": "v"}}
}

// Each kind of action, and the call that it becomes.
func TestActions(t *testing.T) {
	yes := "yes"
	set := &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "7"}}
	for _, r := range []struct {
		action cluster.Action
		want   string // the beginning
	}{
		{cluster.Apply{Object: files()}, `application/apply-patch+yaml *v1.ConfigMap c-config by fairlead-operator, force true: {"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap"`},
		{cluster.ScaleIn{StatefulSet: set}, `application/apply-patch+yaml *v1.StatefulSet c by fairlead-operator, force true: {"apiVersion":"apps/v1"`},
		{cluster.DeletePod{Name: "c-0", UID: "u"}, "delete *v1.Pod ns/c-0 u"},
		{cluster.PatchPod{Name: "c-0", UID: "u", Labels: map[string]*string{"a": &yes, "b": nil}}, `application/merge-patch+json *v1.Pod c-0 by fairlead-operator, force false: {"metadata":{"labels":{"a":"yes","b":null},"uid":"u"}}`},
		{cluster.GrowClaim{Name: "data-c-0", UID: "u", Size: resource.MustParse("2Gi")}, `application/merge-patch+json *v1.PersistentVolumeClaim data-c-0 by fairlead-operator, force false: {"metadata":{"uid":"u"},"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`},
		{cluster.DeleteClaim{Name: "data-c-0", UID: "u"}, "delete *v1.PersistentVolumeClaim ns/data-c-0 u"},
		{cluster.MarkFormed{Name: "data-c-0", UID: "u"}, `application/merge-patch+json *v1.PersistentVolumeClaim data-c-0 by fairlead-operator, force false: {"metadata":{"annotations":{"fairlead.io/quorum-formed":"true"},"uid":"u"}}`},
		{cluster.OrphanStatefulSet{Name: "c", UID: "u"}, "delete *v1.StatefulSet ns/c u Orphan"},
		{cluster.AlterSettings{Set: map[string]string{"a": "1"}, Delete: []string{"b"}}, "alter map[a:1] [b]"},
		{cluster.UnregisterBroker{ID: 3}, "unregister 3"},
		{cluster.Event{Type: "Normal", Reason: "R", Message: "100% done"}, "event Normal R *v1alpha1.Cluster 100% done"},
	} {
		w := &world{}
		got := w.applier().Do(t.Context(), c, []cluster.Action{r.action})
		if got.Failed != nil || got.Outdated || len(got.Done) != 1 || len(w.calls) != 1 || !strings.HasPrefix(w.calls[0], r.want) {
			t.Errorf("%s: %q, %+v\nwant %q", r.action, w.calls, got, r.want)
		}
	}
}

// A status is nobody's to apply.
func TestNoStatusIsApplied(t *testing.T) {
	set := &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: metav1.ObjectMeta{Name: "c", ResourceVersion: "7"}, Status: appsv1.StatefulSetStatus{Replicas: 3}}
	body, err := patchOf(set)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	if fields["status"] != nil || fields["kind"] != "StatefulSet" || !strings.Contains(string(body), `"resourceVersion":"7"`) {
		t.Errorf("%s", body)
	}
}

// One action that fails keeps none of the others from being done, and is told with its words.
func TestAFailureAmongOthers(t *testing.T) {
	w := &world{errors: map[string]error{"delete *v1.Pod ns/c-0": apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "c-0", errors.New("no rights"))}}
	got := w.applier().Do(t.Context(), c, []cluster.Action{cluster.DeletePod{Name: "c-0", UID: "u", Why: "it is old"}, cluster.UnregisterBroker{ID: 3}})
	if len(got.Done) != 1 || got.Done[0] != (cluster.UnregisterBroker{ID: 3}) || got.Outdated || got.Failed == nil ||
		!strings.Contains(got.Failed.Error(), "delete pod c-0: it is old") || !strings.Contains(got.Failed.Error(), "no rights") || !apierrors.IsForbidden(got.Failed) {
		t.Errorf("%+v", got)
	}
}

// What did not happen is no event: it would be told anew with each try.
func TestNoEventOfWhatFailed(t *testing.T) {
	w := &world{errors: map[string]error{
		"delete *v1.Pod ns/c-0":    apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "c-0", errors.New("no rights")),
		"application/apply-patch+": apierrors.NewConflict(schema.GroupResource{}, "c-config", errors.New("it changed")),
	}}
	told := func(what string) cluster.Event { return cluster.Event{Type: "Normal", Reason: "R", Message: what} }
	w.applier().Do(t.Context(), c, []cluster.Action{
		told("of the status"),
		cluster.DeletePod{Name: "c-0", UID: "u"}, told("deleted c-0"), told("and more of it"),
		cluster.Apply{Object: files()}, told("written"),
		cluster.DeletePod{Name: "c-1", UID: "u"}, told("deleted c-1"),
	})
	var events []string
	for _, call := range w.calls {
		if what, is := strings.CutPrefix(call, "event Normal R *v1alpha1.Cluster "); is {
			events = append(events, what)
		}
	}
	if want := []string{"of the status", "deleted c-1"}; !slices.Equal(events, want) {
		t.Errorf("%q, want %q", events, want)
	}
}

// What is gone, or is another one by now, is done; an object that changed since it was seen is looked at again.
func TestWhatChangedMeanwhile(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "x")
	other := apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("another UID"))
	for _, r := range []struct {
		err      error
		action   cluster.Action
		outdated bool
	}{
		{gone, cluster.DeletePod{Name: "c-0", UID: "u"}, false},
		{other, cluster.DeletePod{Name: "c-0", UID: "u"}, false},
		{other, cluster.PatchPod{Name: "c-0", UID: "u"}, false},
		{gone, cluster.GrowClaim{Name: "data-c-0", UID: "u"}, false},
		{other, cluster.OrphanStatefulSet{Name: "c", UID: "u"}, false},
		{&brokerclient.Refusal{Code: kafka.BrokerIDNotRegistered}, cluster.UnregisterBroker{ID: 3}, false},
		{other, cluster.Apply{Object: files()}, true},
	} {
		w := &world{errors: map[string]error{"": r.err}}
		got := w.applier().Do(t.Context(), c, []cluster.Action{r.action})
		if got.Failed != nil || got.Outdated != r.outdated || (len(got.Done) == 1) == r.outdated {
			t.Errorf("%s after %v: %+v", r.action, r.err, got)
		}
	}
	w := &world{errors: map[string]error{"": &brokerclient.Refusal{Code: kafka.InvalidRequest, Message: "it holds replicas"}}}
	if got := w.applier().Do(t.Context(), c, []cluster.Action{cluster.UnregisterBroker{ID: 3}}); got.Failed == nil {
		t.Error("a refusal is taken for success")
	}
}

// An object of that name is taken over only if it is this Cluster's and stays.
func TestWhoseObjectItIs(t *testing.T) {
	yes := true
	ours := metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "fairlead.io/v1alpha1", Kind: "Cluster", Name: "c", UID: "cluster", Controller: &yes}}}
	earlier := *ours.DeepCopy()
	earlier.OwnerReferences[0].UID = "earlier"
	going := *ours.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{}
	for _, r := range []struct {
		what string
		live metav1.ObjectMeta
		want string
	}{
		{"ours", ours, ""},
		{"nobody's", metav1.ObjectMeta{}, "belongs to somebody else"},
		{"that of an earlier Cluster of the name", earlier, "belongs to Cluster c (UID earlier)"},
		{"ours, and going", going, "is being deleted"},
	} {
		w := &world{live: map[string]*metav1.PartialObjectMetadata{"c-config": {ObjectMeta: r.live}}}
		got := w.applier().Do(t.Context(), c, []cluster.Action{cluster.Apply{Object: files()}})
		if r.want == "" && (got.Failed != nil || len(w.calls) != 1) || r.want != "" && (got.Failed == nil || !strings.Contains(got.Failed.Error(), r.want) || len(w.calls) > 0) {
			t.Errorf("%s: %v, %q", r.what, got.Failed, w.calls)
		}
	}
}

func TestShortened(t *testing.T) {
	long := strings.Repeat("ü", maxNote)
	if got := shortened(long); len(got) > maxNote || !utf8.ValidString(got) || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes: %q", len(got), got[len(got)-10:])
	}
	if got := shortened("short"); got != "short" {
		t.Error(got)
	}
}
