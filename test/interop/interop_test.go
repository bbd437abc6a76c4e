package interop

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/control"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// cluster starts three brokers for a test, or skips it when there is no command for them.
func cluster(t *testing.T, settings map[string]string) *control.Cluster {
	t.Helper()
	command := os.Getenv("CLUSTER")
	if command == "" {
		t.Skip("set CLUSTER to a control command; `make interop` does")
	}
	c, err := control.Up(command, "", control.Options{Brokers: 3, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.LogTails(20))
		}
		if err := c.Down(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// newTopic creates a topic of three replicas.
func newTopic(t *testing.T, c *control.Cluster, name string, partitions int32, settings map[string]string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := control.CreateTopic(ctx, kadm.NewClient(cl), name, partitions, 3, settings); err != nil {
		t.Fatal(err)
	}
}
