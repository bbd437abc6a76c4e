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
	if err := admin.Create(t.Context(), m); err != nil {
		t.Error(err)
	}
}
