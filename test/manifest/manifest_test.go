package manifest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m)) }

// kubectl gives what it prints; a warning fails the test.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), append([]string{"--kubeconfig", kubetest.Kubeconfig(t)}, args...)...)
	cmd.Dir, cmd.Env = kubetest.Root(), append(os.Environ(), "HOME="+t.TempDir())
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out.String()
}

// object is as much of one as these tests look at.
type object struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta
	Rules    []rbacv1.PolicyRule
	RoleRef  rbacv1.RoleRef
	Subjects []rbacv1.Subject
	text     []byte
}

func render(t *testing.T, dir string) []object {
	t.Helper()
	var objects []object
	for _, text := range strings.Split(kubectl(t, "kustomize", dir), "\n---\n") {
		o := object{text: []byte(text)}
		if err := yaml.Unmarshal(o.text, &o); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects
}

func find(t *testing.T, objects []object, kind, name string) object {
	t.Helper()
	i := slices.IndexFunc(objects, func(o object) bool { return o.Kind == kind && o.Metadata.Name == name })
	if i < 0 {
		t.Fatalf("no %s %s", kind, name)
	}
	return objects[i]
}

func rules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kubetest.Root(), "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil || len(role.Rules) == 0 {
		t.Fatalf("%d rules, %v", len(role.Rules), err)
	}
	return role.Rules
}

// The operator for all namespaces is one apply, and the samples are good Clusters and Topics.
func TestDefault(t *testing.T) {
	objects := render(t, "config/default")
	if got := find(t, objects, "ClusterRole", "fairlead-operator").Rules; !reflect.DeepEqual(got, rules(t)) {
		t.Errorf("rules %+v", got)
	}
	for _, o := range objects {
		for _, s := range o.Subjects {
			if s.Name != "fairlead-operator" || s.Namespace != "fairlead-system" {
				t.Errorf("%s %s is bound to %s in %q", o.Kind, o.Metadata.Name, s.Name, s.Namespace)
			}
		}
	}
	kubectl(t, "apply", "--server-side", "-k", "config/default")
	ns := kubetest.Namespace(t, kubetest.Client(t, kubetest.Server(t)))
	kubectl(t, "apply", "-n", ns, "-k", "config/samples")
	if got := kubectl(t, "get", "fairlead", "-n", ns, "-o", "name"); got != "cluster.fairlead.io/demo\ntopic.fairlead.io/orders\n" {
		t.Errorf("got %q", got)
	}
}

// The operator for one namespace has the same rules, in that namespace alone.
func TestNamespaced(t *testing.T) {
	objects := render(t, "config/namespaced")
	for _, o := range objects {
		if strings.HasPrefix(o.Kind, "Cluster") || o.Metadata.Namespace != "streams" || o.RoleRef.Kind == "ClusterRole" {
			t.Errorf("%s %s in namespace %q, of a %s", o.Kind, o.Metadata.Name, o.Metadata.Namespace, o.RoleRef.Kind)
		}
		for _, s := range o.Subjects {
			if s.Namespace != "streams" {
				t.Errorf("%s %s is bound in %q", o.Kind, o.Metadata.Name, s.Namespace)
			}
		}
	}
	if got := find(t, objects, "Role", "fairlead-operator").Rules; !reflect.DeepEqual(got, rules(t)) {
		t.Errorf("rules %+v", got)
	}
	if ref := find(t, objects, "RoleBinding", "fairlead-operator").RoleRef; ref.Name != "fairlead-operator" {
		t.Errorf("bound to %+v", ref)
	}
	var d appsv1.Deployment
	if err := yaml.Unmarshal(find(t, objects, "Deployment", "fairlead-operator").text, &d); err != nil {
		t.Fatal(err)
	}
	if args := d.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--namespace=streams") || !slices.Contains(args, "--read-nodes-and-storage=false") {
		t.Errorf("arguments %q", args)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "streams", Labels: map[string]string{"pod-security.kubernetes.io/warn": "restricted"}}}
	if err := kubetest.Client(t, kubetest.Server(t)).Create(t.Context(), ns); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "--server-side", "-k", "config/namespaced")
}
