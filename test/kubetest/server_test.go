package kubetest

import (
	"net/http"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// What a client asks is seen, and what it may not ask too.
func TestCalls(t *testing.T) {
	cfg := Server(t)
	admin := Client(t, cfg)
	namespace := Namespace(t, admin)
	nobody := rest.CopyConfig(cfg)
	nobody.Impersonate.UserName = "nobody"
	var calls Calls
	c := Client(t, calls.Record(nobody))
	calls.Reset() // what a client asks to find its way

	var list corev1.ConfigMapList
	if err := c.List(t.Context(), &list, client.InNamespace(namespace)); err == nil {
		t.Error("nobody may list")
	}
	m := &corev1.ConfigMap{}
	m.Name, m.Namespace = "m", namespace
	if err := c.Create(t.Context(), m); err == nil {
		t.Error("nobody may create")
	}
	if w, r := calls.Writes(), calls.Refused(); len(w) != 1 || w[0].Method != http.MethodPost || len(r) != 2 {
		t.Errorf("writes %v, refused %v", w, r)
	}
	for _, p := range []Permission{{"", "configmaps", "list"}, {"", "configmaps", "create"}} {
		if !calls.Permissions()[p] {
			t.Errorf("%v is not in %v", p, calls.Permissions())
		}
	}
	if err := admin.Create(t.Context(), m); err != nil {
		t.Error(err)
	}
}

func TestTarget(t *testing.T) {
	for _, r := range []struct {
		path, group, resource string
		named                 bool
	}{
		{"/api/v1/namespaces/a/pods/b", "", "pods", true},
		{"/api/v1/namespaces/a/pods", "", "pods", false},
		{"/api/v1/pods", "", "pods", false},
		{"/api/v1/nodes/n", "", "nodes", true},
		{"/api/v1/namespaces/a/pods/b/status", "", "pods/status", true},
		{"/apis/apps/v1/namespaces/a/statefulsets/b", "apps", "statefulsets", true},
		{"/apis/fairlead.io/v1alpha1/topics", "fairlead.io", "topics", false},
		{"/api/v1", "", "", false},
		{"/apis", "", "", false},
		{"/version", "", "", false},
	} {
		if group, resource, named := target(r.path); group != r.group || resource != r.resource || named != r.named {
			t.Errorf("%s: %q %q %v", r.path, group, resource, named)
		}
	}
}
