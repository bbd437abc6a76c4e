package kubetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// assets names the variable that says where kube-apiserver and etcd are.
const assets = "KUBEBUILDER_ASSETS"

// server is started by the first test that asks for it.
var server struct {
	mu  sync.Mutex
	env *envtest.Environment
	cfg *rest.Config
	err error
}

// Main runs the tests of a package and ends the API server, if one was started. Use: func TestMain(m *testing.M) { os.Exit(kubetest.Main(m)) }.
func Main(m *testing.M) int {
	ctrllog.SetLogger(logr.Discard()) // managers are given theirs
	code := m.Run()
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.env != nil {
		if err := server.env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			return 1
		}
	}
	return code
}

// Server is how to reach the API server as somebody who may do everything. It has RBAC, and the definitions of config/crd.
func Server(t testing.TB) *rest.Config {
	t.Helper()
	if os.Getenv(assets) == "" {
		t.Skip(assets + " is not set: no kube-apiserver and etcd to test with (hack/kube builds them)")
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.env == nil {
		server.env = &envtest.Environment{
			CRDDirectoryPaths:     []string{filepath.Join(Root(), "config", "crd", "bases")},
			ErrorIfCRDPathMissing: true,
		}
		server.cfg, server.err = server.env.Start()
	}
	if server.err != nil {
		t.Fatalf("start the API server: %v", server.err)
	}
	return rest.CopyConfig(server.cfg)
}

// Kubeconfig is a file with which programs reach the API server as somebody who may do everything.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	Server(t)
	server.mu.Lock()
	defer server.mu.Unlock()
	name := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(name, server.env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// scheme knows Kubernetes' kinds and ours. It is not client-go's own, which managers of other tests read meanwhile.
var scheme = sync.OnceValue(func() *kuberuntime.Scheme {
	s := kuberuntime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
})

// Client reads and writes without a cache, Kubernetes' kinds and ours.
func Client(t testing.TB, cfg *rest.Config) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Namespace makes a namespace for one test. It stays, since nothing empties namespaces here; what operators and stand-ins of later tests would
// look after is deleted at the end.
func Namespace(t testing.TB, c client.Client) string {
	t.Helper()
	prefix := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(t.Name()))
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix[:min(len(prefix), 40)] + "-"}}
	if err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, o := range []client.Object{&v1alpha1.Topic{}, &v1alpha1.Cluster{}, &appsv1.StatefulSet{}, &corev1.Pod{}} {
			if err := c.DeleteAllOf(context.Background(), o, client.InNamespace(n.Name), client.GracePeriodSeconds(0)); err != nil {
				t.Errorf("delete all %T: %v", o, err)
			}
		}
	})
	return n.Name
}

// Root is the top directory of the repository.
func Root() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		panic("kubetest: this file's name is not in the program")
	}
	return filepath.Join(filepath.Dir(file), "..", "..")
}
