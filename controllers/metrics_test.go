package controllers

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/kubetest"
)

var rewrite = flag.Bool("rewrite", false, "write the page of metrics anew")

// docs/operations/operator-metrics.md lists the operator's own metrics.
func TestPageOfMetrics(t *testing.T) {
	page := filepath.Join(kubetest.Root(), "docs", "operations", "operator-metrics.md")
	var b bytes.Buffer
	b.WriteString("<!-- Made by `go test ./controllers -run PageOfMetrics -rewrite` from controllers/metrics.go. -->\n# Metrics of the operator\n\n" +
		"The operator serves these at `/metrics` of `--metrics-bind-address` (8080), and those of controller-runtime, for example `controller_runtime_reconcile_errors_total`\n" +
		"by `controller` (`cluster`, `topic`), `workqueue_depth`, `rest_client_requests_total` and `leader_election_master_status`. Only the operator that works serves its own: one that stands by\n" +
		"would tell that nothing is done. There is one series a Cluster, and none for Topics, which may be thousands. Metrics of brokers: [metrics.md](metrics.md).\n\n" +
		"| name | type | labels | what it tells |\n|---|---|---|---|\n")
	for _, g := range gauges {
		fmt.Fprintf(&b, "| `%s` | gauge | %s | %s |\n", g.name, strings.Join(g.labels, ", "), g.help)
	}
	if *rewrite {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not current: run with -rewrite", page)
	}
}

func TestMemory(t *testing.T) {
	now := time.Unix(1000, 0)
	m := newMemory(func() time.Time { return now })
	registry := prometheus.NewRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	name := types.NamespacedName{Namespace: "ns", Name: "c"}
	if failures, replaced := m.begin(name, "1"); failures != nil || replaced != "" {
		t.Errorf("of the first pass: %v %q", failures, replaced)
	}
	m.fail(name, errors.New("no rights"))
	now = now.Add(30 * time.Second)
	if failures, replaced := m.begin(name, "1"); len(failures) != 1 || failures[0] != "no rights" || replaced != "" {
		t.Errorf("of the second: %v %q", failures, replaced)
	}
	values := gathered(t, registry)
	if v := values[passAge.name+" c ns"]; v != 30 {
		t.Errorf("age %v in %v", v, values)
	}
	m.fail(name, nil)
	m.pass(name, []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Rolling", LastTransitionTime: metav1.Unix(990, 0)}})
	now = now.Add(5 * time.Second)
	values = gathered(t, registry)
	if v := values[passAge.name+" c ns"]; v != 5 {
		t.Errorf("age %v in %v", v, values)
	}
	if v := values[conditionSince.name+" c ns Rolling False Ready"]; v != 990 {
		t.Errorf("since %v in %v", v, values)
	}
	if failures, replaced := m.begin(name, "2"); failures != nil || replaced != "1" {
		t.Errorf("of another Cluster of the name: %v %q", failures, replaced)
	}
	if uid := m.forget(name); uid != "2" || len(gathered(t, registry)) != 0 {
		t.Errorf("%q %v", uid, gathered(t, registry))
	}
	if !registry.Unregister(m) {
		t.Error("it cannot be taken out of the registry")
	}
}

// gathered are the values by name and values of labels, which are in the order of the labels' names.
func gathered(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			values[key] = m.GetGauge().GetValue()
		}
	}
	return values
}

// A Cluster that is deleted is forgotten, with the connections to its brokers.
func TestDeletedCluster(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	c := s.cluster("c", 1)
	dropped := make(chan struct{})
	s.operator(func(o *Options) {
		o.Brokers.Drop = func(uid string) {
			if uid == string(c.UID) {
				close(dropped)
			}
		}
	})
	s.awaitReady("c")
	if err := s.kube.Delete(t.Context(), c, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-dropped:
	case <-time.After(limit):
		t.Fatal("the connections are still there")
	}
}

// Long waits are spread; short ones are as they are.
func TestSpread(t *testing.T) {
	for range 100 {
		if w := spread(30 * time.Second); w < 30*time.Second || w > 33*time.Second {
			t.Fatal(w)
		}
	}
	if w := spread(3 * time.Second); w != 3*time.Second {
		t.Error(w)
	}
}
