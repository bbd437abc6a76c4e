package controllers

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/kubetest"
)

// A Cluster becomes brokers that serve. Who founds the quorum is on record before anything is there that could found one.
func TestClusterComesUp(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 3)
	c := s.awaitReady("c")

	q := c.Status.Quorum
	if q == nil || !q.Formed || len(q.Voters) != 3 || q.ClusterID == "" {
		t.Fatalf("quorum %+v", q)
	}
	if c.Status.Summary != "3/3" || len(c.Status.Brokers) != 3 || c.Status.Replicas != 3 || c.Status.BootstrapAddress != "c-bootstrap."+s.ns+".svc:9092" || c.Status.Operation != nil {
		t.Errorf("status %s %s %d %s", c.Status.Summary, c.Status.BootstrapAddress, c.Status.Replicas, describe(c))
	}
	for _, o := range []client.Object{&corev1.ServiceAccount{}, &corev1.Service{}} {
		s.read("c-brokers", o)
	}
	s.read("c-bootstrap", &corev1.Service{})
	s.read("c", &policyv1.PodDisruptionBudget{})
	if set := s.statefulSet("c"); !metav1.IsControlledBy(set, c) || set.Spec.Template.Spec.Containers[0].Image != "fairlead:test" {
		t.Errorf("StatefulSet %+v", set)
	}
	// The founders' identities are no longer given to anybody.
	kubetest.Await(t, limit, func() error {
		files := &corev1.ConfigMap{}
		s.read("c-config", files)
		if p := properties(t, files, "cluster.properties"); p["initial.voters"] != "" || p["cluster.id"] != q.ClusterID {
			return errString(files.Data["cluster.properties"])
		}
		return nil
	})
	record, set := s.first("PATCH", "/clusters/c/status"), s.first("PATCH", "/statefulsets/c")
	if record < 0 || set < 0 || record > set {
		t.Errorf("the status was first written by call %d, the StatefulSet by call %d", record, set)
	}
	if len(s.double("c").violations) > 0 || len(s.double("c").stops) > 0 {
		t.Errorf("stops %v, violations %v", s.double("c").stops, s.double("c").violations)
	}
}

// first is the place of the operator's first call of that kind, -1 if there was none.
func (s *stage) first(method, path string) int {
	return slices.IndexFunc(s.calls.All(), func(c kubetest.Call) bool { return c.Method == method && strings.HasSuffix(c.Path, path) })
}

type errString string

func (e errString) Error() string { return string(e) }
