package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// The audit log has who wrote what by the time that the write is answered.
func TestAuditLog(t *testing.T) {
	c := Connect(t)
	ns := c.Namespace(t)
	mark, err := c.Mark()
	Must(t, err)
	_, err = c.Kubectl(t.Context(), ns, "create", "configmap", "seen")
	Must(t, err)
	requests, err := c.Requests(mark)
	Must(t, err)
	for _, r := range requests {
		if r.Writes() && r.User == "admin" && r.Verb == "create" && r.Resource == "configmaps" && r.Namespace == ns && r.Name == "seen" && r.Code == 201 {
			return
		}
	}
	t.Errorf("the creation of a ConfigMap is not among %v", requests)
}

// Objects are read by every name that kubectl knows, also those of kinds that were defined after the first read.
func TestGet(t *testing.T) {
	c := Connect(t)
	ns := c.Namespace(t)
	var object struct {
		Kind     string
		Metadata struct{ Name string }
	}
	for _, kind := range []string{"namespaces", "namespace", "ns", "Namespace"} {
		object.Metadata.Name = ""
		if err := c.Get(t.Context(), "", kind, ns, &object); err != nil || object.Kind != "Namespace" || object.Metadata.Name != ns {
			t.Errorf("%s: %v, %v", kind, object, err)
		}
	}
	if err := c.Get(t.Context(), ns, "configmap", "none", &object); !errors.Is(err, ErrNotFound) {
		t.Errorf("a ConfigMap that is not there: %v", err)
	}
	group := strings.TrimPrefix(ns, "e2e-") + ".fairlead.io"
	if err := c.Get(t.Context(), ns, "things."+group, "", &object); err == nil {
		t.Error("a kind that is not defined can be read")
	}
	Must(t, c.Apply(t.Context(), ns, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.`+group+`}
spec:
  group: `+group+`
  names: {kind: Thing, plural: things, singular: thing}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`))
	t.Cleanup(func() {
		_, err := c.Kubectl(context.Background(), "", "delete", "crd", "things."+group)
		Must(t, err)
	})
	c.Await(t, step, "new kind served", func(ctx context.Context) error { return c.Get(ctx, ns, "thing."+group, "", &object) })
	if object.Kind != "ThingList" {
		t.Errorf("the list is a %s", object.Kind)
	}
}
