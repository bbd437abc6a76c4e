package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m)) }

// The program serves its probes and metrics, and ends without an error when it is told to stop.
func TestRun(t *testing.T) {
	config := kubetest.Kubeconfig(t)
	ns := kubetest.Namespace(t, kubetest.Client(t, kubetest.Server(t)))
	probes, metrics := address(t), address(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--kubeconfig", config, "--namespace", ns, "--leader-elect", "--leader-election-namespace", ns,
			"--health-probe-bind-address", probes, "--metrics-bind-address", metrics, "--log-level", "error"}, io.Discard)
	}()
	for _, url := range []string{"http://" + probes + "/healthz", "http://" + probes + "/readyz", "http://" + metrics + "/metrics"} {
		kubetest.Await(t, time.Minute, func() error {
			resp, err := http.Get(url)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			switch {
			case err != nil:
				return err
			case resp.StatusCode != http.StatusOK:
				return fmt.Errorf("%s: %s", url, resp.Status)
			case strings.HasSuffix(url, "/metrics") && !strings.Contains(string(body), `leader_election_master_status{name="fairlead-operator"} 1`):
				return fmt.Errorf("it does not lead")
			}
			return nil
		})
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// address is one that nobody listens at.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The arguments in config/manager are the program's.
func TestArgumentsOfTheManifest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(kubetest.Root(), "config", "manager", "manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	c := d.Spec.Template.Spec.Containers[0]
	f, err := parse(c.Args, io.Discard)
	if err != nil || !f.options.LeaderElect || f.options.Image != c.Image {
		t.Errorf("%q: %+v, %v", c.Args, f.options, err)
	}
	for _, p := range c.Ports {
		if served := map[string]string{"metrics": f.options.MetricsAddress, "health": f.options.ProbeAddress}[p.Name]; served != fmt.Sprintf(":%d", p.ContainerPort) {
			t.Errorf("port %s is %d, served at %q", p.Name, p.ContainerPort, served)
		}
	}
}
