package chart

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

const dir = "../../charts/fairlead"

// helm runs the program and returns what it printed.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("HELM")
	if program == "" {
		t.Skip("HELM is not set: no helm program (hack/kube builds one)")
	}
	cmd := exec.Command(program, args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String() + stderr.String(), err
	}
	return out.String(), nil
}

func TestLint(t *testing.T) {
	for _, values := range []string{"default", "everything"} {
		if out, err := helm(t, "lint", "--strict", "-f", "testdata/"+values+".values.yaml", dir); err != nil {
			t.Errorf("%s: %v\n%s", values, err, out)
		}
	}
}

// What is rendered, without the definitions, which TestDefinitions compares.
func TestTemplate(t *testing.T) {
	for _, values := range []string{"default", "everything"} {
		got, err := helm(t, "template", "op", dir, "-n", "fairlead-system", "-f", "testdata/"+values+".values.yaml", "--set", "crds.install=false")
		if err != nil {
			t.Fatalf("%s: %v\n%s", values, err, got)
		}
		golden := filepath.Join("testdata", values+".golden.yaml")
		if *rewrite {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: rendered is not %s; look at the difference, then run with -rewrite\n%s", values, golden, got)
		}
	}
}

// The chart's definitions and rules are config/'s, and definitions outlive the release.
func TestDefinitions(t *testing.T) {
	rendered, err := helm(t, "template", "op", dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, rendered)
	}
	for _, name := range []string{"fairlead.io_clusters.yaml", "fairlead.io_topics.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../config/crd/bases", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(rendered, strings.TrimPrefix(string(text), "---\n")) {
			t.Errorf("the chart does not have config/crd/bases/%s as it is: make generate", name)
		}
		if !strings.Contains(string(text), "helm.sh/resource-policy: keep") {
			t.Errorf("%s would go with the release", name)
		}
	}
	var role struct{ Rules []any }
	text, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &role); err != nil || len(role.Rules) == 0 {
		t.Fatalf("%d rules, %v", len(role.Rules), err)
	}
	want, _ := yaml.Marshal(role.Rules)
	found := false
	for _, one := range strings.Split(rendered, "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Rules    []any
		}
		if err := yaml.Unmarshal([]byte(one), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == "ClusterRole" && o.Metadata.Name == "op-fairlead" {
			got, _ := yaml.Marshal(o.Rules)
			found = bytes.Equal(got, want)
		}
	}
	if !found {
		t.Error("no ClusterRole op-fairlead with the rules of config/rbac/role.yaml")
	}
}

// Wrong values are refused with their place, before anything is installed.
func TestBadValues(t *testing.T) {
	f := func(set, want string) {
		t.Helper()
		out, err := helm(t, "template", "op", dir, "--set", set)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("--set %s: %v, want %q in\n%s", set, err, want, out)
		}
	}
	f("replicas=-1", "/replicas")
	f("logLevel=loud", "/logLevel")
	f("image.pullPolicy=Sometimes", "/image/pullPolicy")
	f("image.repository=", "/image/repository")
	f("watchNamespace=Not_A_Namespace", "/watchNamespace")
	f("brokers=3", "brokers")
	f("metrics.port=70000", "/metrics/port")
}
