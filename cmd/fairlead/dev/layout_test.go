package dev

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/broker/config"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLayoutOfANewCluster(t *testing.T) {
	dir := t.TempDir()
	o := options(dir, 3, 9092)
	o.Settings = config.Values{"num.partitions": "6", "group.initial.rebalance.delay.ms": "5"}
	if err := Write(o); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`controller.listener.names=CONTROLLER
controller.quorum.voters=0@127.0.0.1:10092,1@127.0.0.1:10093,2@127.0.0.1:10094
group.initial.rebalance.delay.ms=5
listeners=PLAINTEXT://127.0.0.1:9093,CONTROLLER://127.0.0.1:10093
log.dirs=%s/broker-1/data
node.id=1
num.partitions=6
offsets.topic.replication.factor=3
`, dir)
	if got := read(t, ConfigFile(dir, 1)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := read(t, filepath.Join(dir, "cluster.properties")), "brokers=3\ncluster.id=AQAAAAAAAAAAAAAAAAAAAA\nport=9092\n"; got != want {
		t.Errorf("cluster.properties is %q, want %q", got, want)
	}
}

// The quorum begins once: with a new cluster, and never again with a directory that is missing later.
func TestTheQuorumBeginsOnce(t *testing.T) {
	dir := t.TempDir()
	voters := func(brokers int) string {
		t.Helper()
		if err := Write(options(dir, brokers, 9092)); err != nil {
			t.Fatal(err)
		}
		var s string
		for id := range brokers {
			s += read(t, filepath.Join(DataDir(dir, id), "voters"))
		}
		return s
	}
	if got := voters(4); got != "3330" {
		t.Errorf("4 new brokers begin with %s voters, want three voters and a broker that joins", got)
	}
	if err := os.RemoveAll(DataDir(dir, 1)); err != nil {
		t.Fatal(err)
	}
	if got := voters(4); got != "3030" {
		t.Errorf("a wiped broker: %s", got)
	}
	if got := voters(5); got != "30300" {
		t.Errorf("a fifth broker: %s", got)
	}
	before := read(t, filepath.Join(DataDir(dir, 0), "meta.properties"))
	voters(5)
	if after := read(t, filepath.Join(DataDir(dir, 0), "meta.properties")); after != before {
		t.Errorf("a data directory was begun again: %q, was %q", after, before)
	}
}

func TestLayoutRefusesForeignData(t *testing.T) {
	refused := func(dir, want string) {
		t.Helper()
		if err := Write(options(dir, 2, 9092)); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	meta := func(dir, id string) {
		t.Helper()
		if err := os.MkdirAll(DataDir(dir, 1), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(DataDir(dir, 1), "meta.properties"), []byte("cluster.id="+id+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	meta(dir, "other")
	refused(dir, fmt.Sprintf("%s holds data of cluster other, but %s is not that cluster's directory", DataDir(dir, 1), dir))

	dir = t.TempDir()
	if err := Write(options(dir, 2, 9092)); err != nil {
		t.Fatal(err)
	}
	meta(dir, "other")
	refused(dir, fmt.Sprintf("%s holds data of cluster other, but %s is of cluster AQAAAAAAAAAAAAAAAAAAAA", DataDir(dir, 1), dir))

	dir = t.TempDir()
	if err := Write(options(dir, 3, 9092)); err != nil {
		t.Fatal(err)
	}
	refused(dir, dir+" holds a cluster of 3 brokers, not 2: remove the directory or start all of them")
	if err := os.WriteFile(filepath.Join(dir, "cluster.properties"), []byte("x=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(dir, "read "+dir+"/cluster.properties: want cluster.id, brokers and port")
}
