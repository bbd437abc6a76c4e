package oncall

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
	"github.com/fairlead-io/fairlead/test/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m)) }

// stage is the API server that views are shown on, one after the other.
type stage struct {
	*testing.T
	kube client.Client
}

func newStage(t *testing.T) stage {
	t.Helper()
	return stage{t, kubetest.Client(t, kubetest.Server(t))}
}

// print is what kubectl says of a view, as the page has it: get of its kinds and, folded, describe of its first object.
func (s stage) print(v view) string {
	s.Helper()
	var kinds []string
	for i, o := range v.objects {
		made := s.put(o)
		kinds = append(kinds, kind(made)+"s.fairlead.io")
		if i == 0 {
			s.record(made, v.events)
		}
	}
	first := v.objects[0].now
	get, describe := []string{"get", strings.Join(kinds, ","), "-o", "wide"}, []string{"describe", kind(first) + ".fairlead.io/" + first.GetName()}
	text := s.run(get) + "\n<details>\n<summary>kubectl " + strings.Join(describe, " ") + "</summary>\n\n" + s.run(describe) + "\n</details>\n"
	for _, o := range v.objects {
		s.must("delete", s.kube.Delete(s.Context(), o.now))
	}
	return text
}

func kind(o client.Object) string {
	if _, ok := o.(*v1alpha1.Topic); ok {
		return "topic"
	}
	return "cluster"
}

// put makes an object as it was, edits it as it was edited, and writes the status that the operator found.
func (s stage) put(o object) client.Object {
	s.Helper()
	made := o.before.DeepCopyObject().(client.Object)
	made.SetUID("")
	s.must("make", s.kube.Create(s.Context(), made))
	if made.GetGeneration() != o.now.GetGeneration() {
		take(made, o.now, func(c, from *v1alpha1.Cluster) { c.Spec = from.Spec }, func(t, from *v1alpha1.Topic) { t.Spec = from.Spec })
		s.must("edit", s.kube.Update(s.Context(), made))
	}
	if made.GetGeneration() != o.now.GetGeneration() {
		s.Fatalf("%s: the API server counts generation %d, the operator saw %d", made.GetName(), made.GetGeneration(), o.now.GetGeneration())
	}
	take(made, o.now, func(c, from *v1alpha1.Cluster) { c.Status = from.Status }, func(t, from *v1alpha1.Topic) { t.Status = from.Status })
	s.must("write the status of", s.kube.Status().Update(s.Context(), made))
	return made
}

// take gives an object a part of another of its kind.
func take(o, from client.Object, cluster func(c, from *v1alpha1.Cluster), topic func(t, from *v1alpha1.Topic)) {
	switch from := from.DeepCopyObject().(type) {
	case *v1alpha1.Cluster:
		cluster(o.(*v1alpha1.Cluster), from)
	case *v1alpha1.Topic:
		topic(o.(*v1alpha1.Topic), from)
	}
}

// record writes events as the operator's recorder does. kubectl lists those of one time by name.
func (s stage) record(about client.Object, events []cluster.Event) {
	s.Helper()
	for i, e := range events {
		s.must("record", s.kube.Create(s.Context(), &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%s.%02d", about.GetName(), about.GetUID(), i)},
			EventTime:  metav1.NowMicro(), ReportingController: desired.FieldOwner, ReportingInstance: desired.FieldOwner + "-0", Action: "Reconcile",
			Type: e.Type, Reason: e.Reason, Note: e.Message,
			Regarding: corev1.ObjectReference{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster", Namespace: namespace, Name: about.GetName(), UID: about.GetUID(),
			},
		}))
	}
}

func (s stage) run(args []string) string {
	s.Helper()
	return "```console\n$ kubectl " + strings.Join(args, " ") + "\n" + settled(kubetest.Kubectl(s, args...)) + "```\n"
}

func (s stage) must(do string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s the object: %v", do, err)
	}
}

// settled replaces what no two runs have in common. Blanks at the ends of lines go.
func settled(text string) string {
	for _, r := range []struct {
		what *regexp.Regexp
		with string
	}{
		// AGE, the last column of get; in a table of events it is as wide as its head.
		{regexp.MustCompile(`(?m)^(\w.* )(?:\d+[smhd])+$`), "${1}12d"},
		{regexp.MustCompile(`(?m)^(  (?:Normal|Warning) +\S+ +)(?:\d+[smhd])+ +`), "${1}2m    "},
		{regexp.MustCompile(`(Creation Timestamp: +)\S+`), "${1}2026-03-02T09:00:00Z"},
		{regexp.MustCompile(`(Resource Version: +)\d+`), "${1}1"},
		{regexp.MustCompile(`(?m)^(  UID: +)\S+`), "${1}00000000-0000-0000-0000-000000000000"},
		{regexp.MustCompile(`(?m) +$`), ""},
	} {
		text = r.what.ReplaceAllString(text, r.with)
	}
	return text
}
