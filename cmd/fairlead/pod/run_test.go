package pod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fairlead-io/fairlead/broker/adminapi"
)

const directoryID = "AAAAAAAAAAAAAAAAAAAAAw"

// container is the file system of one pod: what the operator mounts, and a volume.
type container struct {
	t                             *testing.T
	config, volume, rack, lastLog string
	client, admin                 string
	env                           map[string]string
}

func newContainer(t *testing.T) *container {
	t.Helper()
	root := t.TempDir()
	c := &container{
		t: t, config: root, volume: filepath.Join(root, "data"), rack: filepath.Join(root, "rack"), lastLog: filepath.Join(root, "termination-log"),
		client: freeAddress(t), admin: freeAddress(t),
		env: map[string]string{"POD_NAME": "kafka-0", "POD_NAMESPACE": "ns", "NODE_ID": "0", "ADMIN": ""},
	}
	c.env["ADMIN"] = c.admin
	internal := freeAddress(t)
	c.write("broker.properties", "log.dirs="+c.volume+"\nlisteners=PLAINTEXT://"+c.client+",CONTROLLER://"+internal+"\n"+
		"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=0@"+internal+"\nfairlead.admin.address=${env:ADMIN}\n"+
		"broker.rack=${file:"+c.rack+"}\nadvertised.listeners=PLAINTEXT://"+c.client+",CONTROLLER://"+internal+"\n")
	c.write("cluster.properties", "cluster.id=c\ninitial.voters=0@"+directoryID+"\n")
	c.write("rack", "zone-a")
	c.write("termination-log", "")
	return c
}

// freeAddress is outside the range of ports that the system gives to outgoing connections.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

func (c *container) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.config, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *container) options() Options {
	env := func(name string) (string, bool) {
		v, ok := c.env[name]
		return v, ok
	}
	return Options{Dir: c.config, TerminationLog: c.lastLog, Env: env, Version: "v1", Log: logr.Discard(), Pause: time.Millisecond}
}

// start runs the container; stop is the kubelet's SIGTERM and gives how it ended.
func (c *container) start() (stop func() error) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c.options()) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func (c *container) probe(path string) (int, adminapi.Readiness) {
	var r adminapi.Readiness
	resp, err := http.Get("http://" + c.admin + path)
	if err != nil {
		return 0, r
	}
	defer resp.Body.Close()
	_ = json.NewDecoder(resp.Body).Decode(&r)
	return resp.StatusCode, r
}

// eventually waits for what other goroutines do.
func (c *container) eventually(what string, ok func() bool) {
	c.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 4000 {
		if ok() {
			return
		}
		<-tick.C
	}
	c.t.Fatalf("not within 20 s: %s", what)
}

func (c *container) serves() {
	c.t.Helper()
	c.eventually("the broker serves", func() bool { status, _ := c.probe("/readyz"); return status == http.StatusOK })
}

func (c *container) read(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

func (c *container) identity() string { return c.read(filepath.Join(c.volume, "meta.properties")) }

// A volume without identity is formatted as a founder's, and from then on is what it is, whatever cluster.properties says of founders.
func TestAPodFoundsItsClusterOnce(t *testing.T) {
	c := newContainer(t)
	stop := c.start()
	c.serves()
	if _, r := c.probe("/readyz"); r.DirectoryID != directoryID || r.ClusterID != "c" || r.Version != "v1" || !r.IsQuorumLeader {
		t.Errorf("%+v", r)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.client))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	brokers, err := kadm.NewClient(cl).ListBrokers(t.Context())
	if err != nil || len(brokers) != 1 || brokers[0].NodeID != 0 || brokers[0].Rack == nil || *brokers[0].Rack != "zone-a" {
		t.Errorf("%+v, %v", brokers, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	before := c.identity()
	c.write("cluster.properties", "cluster.id=c\n")
	stop = c.start()
	c.serves()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if c.identity() != before || !strings.Contains(before, "directory.id="+directoryID) {
		t.Errorf("identity %q, then %q", before, c.identity())
	}
	if word := c.read(c.lastLog); word != "" {
		t.Errorf("a pod that was told to stop left the word %q", word)
	}
}

// An empty volume that founds nothing, since its pod was no founder or its cluster is founded, gets a new id and waits to be taken in.
func TestAnEmptyVolumeJoins(t *testing.T) {
	c := newContainer(t)
	c.write("cluster.properties", "cluster.id=c\nlater.releases=write more\n")
	stop := c.start()
	c.eventually("it wants to join", func() bool { _, r := c.probe("/readyz"); return r.Phase == adminapi.Joining })
	if status, _ := c.probe("/healthz"); status != http.StatusOK {
		t.Errorf("a broker that waits for a quorum is not alive: %d", status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if id := c.identity(); strings.Contains(id, directoryID) || !strings.Contains(id, "cluster.id=c\n") || !strings.Contains(id, "directory.id=") {
		t.Errorf("%s", id)
	}
}

// While the rack is not known the container is alive and not ready, and may be stopped; its volume is not touched.
func TestAPodWaitsForItsRack(t *testing.T) {
	c := newContainer(t)
	c.write("rack", "")
	stop := c.start()
	c.eventually("it answers", func() bool { status, _ := c.probe("/healthz"); return status == http.StatusOK })
	status, r := c.probe("/readyz")
	if status != http.StatusServiceUnavailable || r.Phase != adminapi.Starting || !strings.Contains(r.Reason, "waiting for "+c.rack) {
		t.Errorf("%d %+v", status, r)
	}
	if err := stop(); err != nil {
		t.Errorf("stopped while it waits: %v", err)
	}
	if _, err := os.Stat(c.volume); err == nil {
		t.Error("the volume was used before the rack was known")
	}
	stop = c.start()
	c.eventually("it answers again", func() bool { status, _ := c.probe("/healthz"); return status == http.StatusOK })
	c.write("rack", "zone-b\n")
	c.serves()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestTheLastWordSaysWhy(t *testing.T) {
	f := func(what, want string, change func(c *container)) {
		t.Helper()
		c := newContainer(t)
		change(c)
		err := Run(t.Context(), c.options())
		if err == nil {
			t.Fatalf("%s: no error", what)
		}
		if got, want := c.read(c.lastLog), strings.NewReplacer("DIR", c.config, "VOLUME", c.volume).Replace(want)+"\n"; got != want {
			t.Errorf("%s:\ngot  %swant %s", what, got, want)
		}
	}
	f("a bad value", "bad broker config: DIR/broker.properties: Invalid value x for configuration num.partitions: Not a number of type INT", func(c *container) {
		c.write("broker.properties", c.read(filepath.Join(c.config, "broker.properties"))+"num.partitions=x\n")
	})
	f("a variable that is not set", "bad broker config: DIR/broker.properties: node.id: ${env:NODE_ID}: environment variable NODE_ID is not set", func(c *container) {
		delete(c.env, "NODE_ID")
	})
	f("no cluster", "read cluster: open DIR/cluster.properties: no such file or directory", func(c *container) {
		if err := os.Remove(filepath.Join(c.config, "cluster.properties")); err != nil {
			t.Fatal(err)
		}
	})
	f("a cluster without id", "DIR/cluster.properties: no cluster.id", func(c *container) { c.write("cluster.properties", "") })
	f("a founder without directory", `DIR/cluster.properties: initial.voters: directory id of voter 0: parse uuid "": want 22 characters of URL-safe base64`, func(c *container) {
		c.write("cluster.properties", "cluster.id=c\ninitial.voters=0\n")
	})
	f("another cluster's volume", "data directory of another cluster: start broker 0: data directory VOLUME belongs to cluster c, not to d", func(c *container) {
		stop := c.start()
		c.serves()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		c.write("cluster.properties", "cluster.id=d\n")
	})
	f("another broker's volume", "start broker 1: data directory VOLUME belongs to broker 0", func(c *container) {
		stop := c.start()
		c.serves()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		c.env["NODE_ID"] = "1"
	})
}

func TestLastWordIsOneShortLine(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "/data/x", Err: syscall.ENOSPC}
	if got := lastWord(fmt.Errorf("format: %w", errors.Join(full, errors.New("close")))); got != "disk full: format: write /data/x: no space left on device; close\n" {
		t.Errorf("%q", got)
	}
	if got := lastWord(errors.New(strings.Repeat("é", maxLastWord))); len(got) > maxLastWord || !strings.HasSuffix(got, "é\n") {
		t.Errorf("%d bytes, ends in %q", len(got), got[len(got)-4:])
	}
}

// Outside Kubernetes there is no such file, and none is made.
func TestNoTerminationLogIsMade(t *testing.T) {
	c := newContainer(t)
	c.write("cluster.properties", "")
	if err := os.Remove(c.lastLog); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), c.options()); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(c.lastLog); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
