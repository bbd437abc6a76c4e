package controllers

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/test/kubetest"
)

// With --namespace a Role in the namespace is enough. What belongs to no namespace is then not known, and a condition says so.
func TestC55OneNamespace(t *testing.T) {
	s := newStage(t)
	s.oneNamespace()
	s.operator(func(o *Options) { o.Namespace, o.NoNodesAndStorage = s.ns, true })
	s.cluster("c", 3)
	s.awaitReady("c")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{needsRestart: "50000000"} })
	s.awaitReady("c")

	s.cluster("racked", 1, func(c *v1alpha1.Cluster) { c.Spec.Rack = &v1alpha1.Rack{} })
	s.awaitCondition("racked", "BrokersReady", metav1.ConditionFalse, string(conditions.RackUnknown), "no permission")
}

// Of two operators one works, and when it stops the other goes on. The Lease is all that leader election has rights for.
func TestLeaderElection(t *testing.T) {
	s := newStage(t)
	s.oneNamespace()
	role := s.role("leader_election_role.yaml")
	s.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: role.Name}, Rules: role.Rules})
	s.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: role.Name}, Subjects: s.subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}})
	elect := func(o *Options) {
		o.Namespace, o.NoNodesAndStorage, o.LeaderElect, o.LeaderElectionNamespace = s.ns, true, true, s.ns
	}
	stop := s.operator(elect)
	s.cluster("c", 1)
	s.awaitReady("c")
	s.operator(elect)
	stop()
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{"log.retention.ms": "1000"} })
	s.awaitReady("c")
	s.awaitSetting("c", "log.retention.ms", "1000")
	lease := &coordinationv1.Lease{}
	s.read(LeaseName, lease)
	if n := lease.Spec.LeaseTransitions; n == nil || *n == 0 {
		t.Errorf("lease %+v", lease.Spec)
	}
}

// A permission that was taken away is reported in a condition, with the API server's words; when it is back, the operator goes on.
func TestC55MissingPermission(t *testing.T) {
	s := newStage(t)
	s.clusterWide("delete pods")
	s.operator()
	s.mayRefuse = func(c kubetest.Call) bool { return c.Method == http.MethodDelete && strings.Contains(c.Path, "/pods/") }
	s.cluster("c", 3)
	s.awaitReady("c")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{needsRestart: "50000000"} })
	s.awaitCondition("c", "Progressing", metav1.ConditionFalse, string(conditions.ApplyFailed), `cannot delete resource "pods"`)

	full := s.role("role.yaml")
	role := &rbacv1.ClusterRole{}
	s.read(full.Name, role)
	role.Rules = full.Rules
	if err := s.kube.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	s.awaitReady("c")
}

// An object of the same name that is somebody else's is not taken over.
func TestObjectsOfOthers(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "c-config"}, Data: map[string]string{"theirs": "yes"}})
	s.operator()
	s.cluster("c", 1)
	s.awaitCondition("c", "Progressing", metav1.ConditionFalse, string(conditions.ApplyFailed), "belongs to somebody else")
	theirs := &corev1.ConfigMap{}
	s.read("c-config", theirs)
	if len(theirs.Data) != 1 || len(theirs.OwnerReferences) > 0 {
		t.Errorf("%+v", theirs)
	}
	if err := s.kube.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	s.awaitReady("c")
}

// Who looks at the Cluster's events sees what was done.
func TestEvents(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 1)
	s.awaitReady("c")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{needsRestart: "50000000"} })
	s.awaitReady("c")
	kubetest.Await(t, limit, func() error {
		var list eventsv1.EventList
		if err := s.kube.List(t.Context(), &list, client.InNamespace(s.ns)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "RestartingBroker" && e.Regarding.Kind == "Cluster" && e.Regarding.Name == "c" && e.ReportingController == "fairlead-operator" {
				return nil
			}
		}
		return errString("no event RestartingBroker")
	})
}

// The rules name what they allow: no wildcard, nothing of secrets, no right to give rights.
func TestC55RulesAreNarrow(t *testing.T) {
	for _, file := range []string{"role.yaml", "nodes_and_storage_role.yaml", "leader_election_role.yaml"} {
		for _, r := range readRole(t, file).Rules {
			all := slices.Concat(r.APIGroups, r.Resources, r.Verbs, r.NonResourceURLs)
			for _, bad := range []string{"*", "secrets", rbacv1.GroupName, "escalate", "bind", "impersonate", "deletecollection", "pods/exec", "serviceaccounts/token"} {
				if slices.Contains(all, bad) {
					t.Errorf("%s: %q in %+v", file, bad, r)
				}
			}
		}
	}
}

// unusedRules are in config/rbac and not asked for in the life of a Cluster.
var unusedRules = map[kubetest.Permission]string{
	{Group: "fairlead.io", Resource: "clusters/finalizers", Verb: "update"}: "only API servers with OwnerReferencesPermissionEnforcement ask for it",
	{Group: "fairlead.io", Resource: "topics", Verb: "list"}:                "Topics, which have tests of their own",
	{Group: "fairlead.io", Resource: "topics", Verb: "watch"}:               "likewise",
	{Group: "fairlead.io", Resource: "topics", Verb: "patch"}:               "likewise: finalizers",
	{Group: "fairlead.io", Resource: "topics/status", Verb: "patch"}:        "likewise",
	{Group: "", Resource: "namespaces", Verb: "get"}:                        "an operator that is told to stop looks whether its namespace goes",
	{Group: "events.k8s.io", Resource: "events", Verb: "patch"}:             "an event that comes again, minutes later",
}

// A life of a Cluster needs every rule that there is, and no other.
func TestC55RulesAreNeeded(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	class := s.class("grows", true)
	s.cluster("c", 4, class, func(c *v1alpha1.Cluster) {
		c.Spec.Rack, c.Spec.Storage.DeletionPolicy = &v1alpha1.Rack{}, v1alpha1.Delete
	})
	s.awaitReady("c")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{needsRestart: "50000000"} })
	s.awaitReady("c")
	s.resize("c", "2Gi")
	s.awaitReady("c")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Replicas = 3 })
	s.awaitReady("c")

	needed := s.calls.Permissions()
	for _, file := range []string{"role.yaml", "nodes_and_storage_role.yaml"} {
		for _, r := range readRole(t, file).Rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						p := kubetest.Permission{Group: group, Resource: resource, Verb: verb}
						// A cache begins with a watch that sends what there is, and lists where the API server does not do that.
						listed := verb == "list" && needed[kubetest.Permission{Group: group, Resource: resource, Verb: "watch"}]
						if !needed[p] && !listed && unusedRules[p] == "" {
							t.Errorf("%s: nobody needs %+v", file, p)
						}
					}
				}
			}
		}
	}
}
