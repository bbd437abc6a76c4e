package server

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

var rewrite = flag.Bool("rewrite", false, "write generated pages anew; read the diff")

const metricsPage = "../../docs/operations/metrics.md"

// TestThePageOfMetricsIsTheTable compares docs/operations/metrics.md.
func TestThePageOfMetricsIsTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("<!-- Made by `go test ./broker/server -run ThePageOfMetrics -rewrite` from broker/server/metrics.go. -->\n# Metrics\n\n" +
		"A broker serves these, and those of the Go runtime and of its process (`go_*`, `process_*`), at `/metrics` of its admin endpoint\n" +
		"(`fairlead.admin.address`). No label has a value that a client could invent: there is none by topic, group or client.\n\n" +
		"| name | type | label | what it tells |\n|---|---|---|---|\n")
	for _, m := range metrics {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, m.label, m.help)
	}
	if *rewrite {
		if err := os.WriteFile(metricsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is not what the table says: run this test with -rewrite", metricsPage)
	}
}

// TestEveryMetricIsServed, with its type and help.
func TestEveryMetricIsServed(t *testing.T) {
	s := startBrokers(t, 1)[0]
	createTopic(t, s, "t", 1)
	s.requests.Replied(kmsg.Produce, 3*time.Millisecond)
	eventually(t, "the partition is led here", func() bool { return s.scrape().led == 1 })
	_, text := get(t, s, "/metrics", nil)
	for _, m := range metrics {
		if !strings.Contains(text, fmt.Sprintf("# TYPE %s %s\n", m.name, m.kind)) || !strings.Contains(text, "# HELP "+m.name+" ") {
			t.Errorf("%s is not served as %s", m.name, m.kind)
		}
	}
	for _, want := range []string{
		"fairlead_partitions_led 1", "fairlead_partition_elections_total 1", "fairlead_partitions_leaderless 0",
		`fairlead_request_duration_seconds_bucket{api="Produce",le="0.0025"} 0`, `fairlead_request_duration_seconds_bucket{api="Produce",le="0.005"} 1`,
		`fairlead_request_duration_seconds_count{api="Produce"} 1`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestDurationsFallIntoTheFirstBucketThatHoldsThem(t *testing.T) {
	var d durations
	for _, took := range []time.Duration{0, 500 * time.Microsecond, 501 * time.Microsecond, 10 * time.Second, time.Hour} {
		d.add(took)
	}
	h := d.read()
	if h.count != 5 || h.buckets[0.0005] != 2 || h.buckets[0.001] != 3 || h.buckets[2.5] != 3 || h.buckets[10] != 4 || h.sum < 3610 {
		t.Errorf("%+v", h)
	}
	var r requestCounts
	r.Replied(-1, 0)
	r.Replied(maxTimedKey, 0)
	r.each(func(_ histogram, api string) { t.Errorf("counted %s", api) })
}

func TestChangesOfPartitionsAreCountedByTheirLeader(t *testing.T) {
	state := func(leader kafka.NodeID, epoch kafka.LeaderEpoch, isr ...kafka.NodeID) *metadata.Partition {
		return &metadata.Partition{Leader: leader, LeaderEpoch: epoch, ISR: isr}
	}
	f := func(what string, before, after *metadata.Partition, want [3]uint64) {
		t.Helper()
		var k partitionCounts
		k.follow(&metadata.Delta{Partitions: []metadata.PartitionDelta{{Before: before, After: after}}}, 1)
		if got := [3]uint64{k.elections.Load(), k.isrShrinks.Load(), k.isrExpands.Load()}; got != want {
			t.Errorf("%s: elections, shrinks, expands %v, want %v", what, got, want)
		}
	}
	f("created", nil, state(1, 0, 1, 2), [3]uint64{1, 0, 0})
	f("created elsewhere", nil, state(2, 0, 1, 2), [3]uint64{})
	f("shrunk", state(1, 4, 1, 2), state(1, 4, 1), [3]uint64{0, 1, 0})
	f("grown", state(1, 4, 1), state(1, 4, 1, 2), [3]uint64{0, 0, 1})
	f("taken over from one that died", state(2, 4, 1, 2), state(1, 5, 1), [3]uint64{1, 1, 0})
	f("led again in a new epoch", state(1, 4, 1), state(1, 5, 1), [3]uint64{1, 0, 0})
	f("lost", state(1, 4, 1), state(2, 5, 1, 2), [3]uint64{})
	f("deleted", state(1, 4, 1), nil, [3]uint64{})
}
