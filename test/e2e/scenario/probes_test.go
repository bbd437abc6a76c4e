package scenario

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/e2e/kube"
)

// Probes restart a process that hangs, and nothing else: no recovery, and no trouble of DNS.
func TestC54ProbesLetABrokerRecover(t *testing.T) {
	c := connect(t)
	namespace := newCluster(t, c, 3)
	kube.Must(t, c.Apply(t.Context(), namespace, topicManifest("many", "partitions: 300", "replicationFactor: 3")))
	awaitReady(t, c, namespace, "topic/many")
	restarts := func(t *testing.T, pod string) int { return mustBrokerPods(t, c, namespace)[pod].Restarts() }

	t.Run("killed, it recovers without another restart", func(t *testing.T) {
		before := restarts(t, "x-0")
		kube.Must(t, c.Kill(t.Context(), namespace, "x-0"))
		c.Await(t, time.Minute, "it was restarted", func(ctx context.Context) error {
			p, err := c.Pod(ctx, namespace, "x-0")
			if err == nil && p.Restarts() == before {
				err = fmt.Errorf("not yet")
			}
			return err
		})
		awaitCalm(t, c, namespace)
		if n := restarts(t, "x-0"); n != before+1 {
			t.Errorf("%d restarts after one kill", n-before)
		}
	})
	t.Run("hanging, it is restarted within three minutes", func(t *testing.T) {
		before := restarts(t, "x-1")
		kube.Must(t, c.Freeze(t.Context(), namespace, "x-1"))
		c.Await(t, 3*time.Minute, "it was restarted", func(ctx context.Context) error {
			p, err := c.Pod(ctx, namespace, "x-1")
			if err == nil && p.Restarts() == before {
				err = fmt.Errorf("not yet")
			}
			return err
		})
		awaitCalm(t, c, namespace)
	})
	t.Run("without DNS no broker is restarted", func(t *testing.T) {
		before := mustBrokerPods(t, c, namespace)
		dns := processOf(t, "dns")
		kube.Must(t, syscall.Kill(dns, syscall.SIGSTOP))
		defer func() { kube.Must(t, syscall.Kill(dns, syscall.SIGCONT)) }()
		lookup, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if found, err := net.DefaultResolver.LookupHost(lookup, "x-bootstrap."+namespace+".svc.cluster.local."); err == nil {
			t.Fatalf("names are still told: %v", found)
		}
		c.Holds(t, 90*time.Second, "no restart", func(ctx context.Context) error {
			now, err := brokerPods(ctx, c, namespace)
			for name, p := range now {
				if p.Restarts() != before[name].Restarts() || p.UID != before[name].UID {
					return fmt.Errorf("%s was restarted", name)
				}
			}
			return err
		})
	})
	awaitCalm(t, c, namespace)
}

// processOf is the id of a process that the cluster's control command started.
func processOf(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("FAIRLEAD_KUBE_RUN"), "pid", name))
	kube.Must(t, err)
	id, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ") // followed by when it was started
	pid, err := strconv.Atoi(id)
	kube.Must(t, err)
	return pid
}
