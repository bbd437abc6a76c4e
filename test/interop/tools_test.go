package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/control"
)

// tools runs Apache Kafka's command-line tools against a cluster.
type tools struct {
	command   string
	cluster   *control.Cluster
	bootstrap string
}

// toolLimit bounds one run of a tool.
const toolLimit = 2 * time.Minute

func newTools(t *testing.T) *tools {
	t.Helper()
	command := os.Getenv("KAFKA")
	if command == "" {
		t.Skip("set KAFKA to the control command of Apache Kafka with its tools")
	}
	c := cluster(t, nil)
	return &tools{command: command, cluster: c, bootstrap: strings.Join(c.Bootstrap, ",")}
}

// run gives what the tool printed; it must end well.
func (k *tools) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.command, args...)
	cmd.Env = append(os.Environ(), "KAFKA_TOOL_TIER=1")
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v:\n%s", strings.Join(args, " "), err, out.String())
	}
	return out.String()
}

// at is run with the cluster's address after the tool's name.
func (k *tools) at(t *testing.T, tool string, args ...string) string {
	t.Helper()
	return k.run(t, "", append([]string{tool, "--bootstrap-server", k.bootstrap}, args...)...)
}

// has checks that each pattern is in the output.
func has(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(out) {
			t.Errorf("no match of %q in\n%s", p, out)
		}
	}
}

// Kafka's own tools do their work on the cluster, in the order in which a person would use them.
func TestKafkaTools(t *testing.T) {
	k := newTools(t)
	step := func(name string, f func(t *testing.T)) {
		if !t.Run(name, f) {
			t.Logf("%s failed; what follows may too", name)
		}
	}
	const topic = "tools"
	step("topics", func(t *testing.T) {
		has(t, k.at(t, "topics", "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "3", "--config", "segment.bytes=1048576"), "Created topic tools")
		has(t, k.at(t, "topics", "--list"), `(?m)^tools$`)
		has(t, k.at(t, "topics", "--describe", "--topic", topic), `PartitionCount: 3`, `ReplicationFactor: 3`, `segment.bytes=1048576`, `(?m)Partition: 2\s+Leader: \d`)
		k.at(t, "topics", "--alter", "--topic", topic, "--partitions", "4")
		has(t, k.at(t, "topics", "--describe", "--topic", topic), `PartitionCount: 4`)
	})
	step("console producer and consumer", func(t *testing.T) {
		var lines strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&lines, "key-%d:value-%d\n", i, i)
		}
		k.run(t, lines.String(), "console-producer", "--bootstrap-server", k.bootstrap, "--topic", topic, "--command-property", "acks=all",
			"--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
		out := k.at(t, "console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "1000", "--group", "readers", "--timeout-ms", "60000",
			"--formatter-property", "print.key=true")
		for i := range 1000 {
			if want := fmt.Sprintf("key-%d\tvalue-%d\n", i, i); !strings.Contains(out, want) {
				t.Errorf("line %q did not come back", want)
			}
		}
	})
	step("consumer-groups", func(t *testing.T) {
		has(t, k.at(t, "consumer-groups", "--list"), `(?m)^readers$`)
		has(t, k.at(t, "consumer-groups", "--describe", "--group", "readers"), `readers\s+tools\s+0\s+\d+\s+\d+\s+0`)
		has(t, k.at(t, "consumer-groups", "--group", "readers", "--topic", topic, "--reset-offsets", "--to-earliest", "--execute"), `tools\s+0\s+0`)
		has(t, k.at(t, "consumer-groups", "--describe", "--group", "readers", "--state"), `readers\s.*Empty`)
		has(t, k.at(t, "consumer-groups", "--delete", "--group", "readers"), `successful`)
	})
	step("configs", func(t *testing.T) {
		has(t, k.at(t, "configs", "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", "retention.ms=3600000"), `Completed updating config for topic tools`)
		has(t, k.at(t, "configs", "--describe", "--entity-type", "topics", "--entity-name", topic), `retention.ms=3600000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention.ms=3600000`)
		k.at(t, "configs", "--alter", "--entity-type", "brokers", "--entity-default", "--add-config", "log.cleaner.backoff.ms=14000")
		has(t, k.at(t, "configs", "--describe", "--entity-type", "brokers", "--entity-default"), `log.cleaner.backoff.ms=14000`)
		has(t, k.at(t, "configs", "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all"), `(?m)node.id=1 `, `log.cleaner.backoff.ms=14000`)
		k.at(t, "configs", "--alter", "--entity-type", "topics", "--entity-name", topic, "--delete-config", "retention.ms")
	})
	step("producer-perf-test and consumer-perf-test", func(t *testing.T) {
		has(t, k.run(t, "", "producer-perf-test", "--topic", topic, "--num-records", "20000", "--record-size", "1000", "--throughput", "-1", "--bootstrap-server", k.bootstrap,
			"--command-property", "acks=all"), `20000 records sent`)
		has(t, k.at(t, "consumer-perf-test", "--topic", topic, "--num-records", "20000", "--timeout", "60000"), `(?m)^\d{4}-\d\d-\d\d .*, 2\d{4}, `)
	})
	step("get-offsets", func(t *testing.T) {
		out := k.at(t, "get-offsets", "--topic", topic)
		has(t, out, `(?m)^tools:0:\d+$`, `(?m)^tools:3:\d+$`)
		has(t, k.at(t, "get-offsets", "--topic", topic, "--time", "earliest"), `(?m)^tools:0:0$`)
	})
	step("log-dirs", func(t *testing.T) {
		has(t, k.at(t, "log-dirs", "--describe", "--topic-list", topic), `"broker":2`, `"partition":"tools-0"`, `"size":\d{4}`)
	})
	step("delete-records", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "offsets.json")
		if err := os.WriteFile(file, []byte(`{"version":1,"partitions":[{"topic":"tools","partition":0,"offset":10}]}`), 0o644); err != nil {
			t.Fatal(err)
		}
		has(t, k.at(t, "delete-records", "--offset-json-file", file), `partition: tools-0\s+low_watermark: 10`)
		has(t, k.at(t, "get-offsets", "--topic", topic, "--time", "earliest"), `(?m)^tools:0:10$`)
	})
	step("leader-election", func(t *testing.T) {
		k.at(t, "leader-election", "--election-type", "preferred", "--all-topic-partitions")
	})
	step("metadata-quorum", func(t *testing.T) {
		has(t, k.at(t, "metadata-quorum", "describe", "--status"), `ClusterId:\s+\S{22}`, `LeaderId:\s+\d`, `CurrentVoters:`)
		has(t, k.at(t, "metadata-quorum", "describe", "--replication"), `Leader`, `Follower`)
	})
	step("cluster and broker-api-versions", func(t *testing.T) {
		has(t, k.run(t, "", "cluster", "cluster-id", "--bootstrap-server", k.bootstrap), `Cluster ID: \S{22}`)
		has(t, k.at(t, "broker-api-versions"), `Produce\(0\): 0 to`, `Fetch\(1\): 4 to`)
	})
	step("dump-log", func(t *testing.T) { dumpLog(t, k, topic) })
	step("deleting the topic", func(t *testing.T) {
		k.at(t, "topics", "--delete", "--topic", topic)
		if out := k.at(t, "topics", "--list"); regexp.MustCompile(`(?m)^tools$`).MatchString(out) {
			t.Errorf("the topic is still listed:\n%s", out)
		}
	})
}

// dumpLog has Kafka check segments and indexes of a leader and a follower, of brokers that were stopped in order.
func dumpLog(t *testing.T, k *tools, topic string) {
	describe := k.at(t, "topics", "--describe", "--topic", topic)
	m := regexp.MustCompile(`Partition: 1\s+Leader: (\d)\s+Replicas: ([\d,]+)`).FindStringSubmatch(describe)
	if m == nil {
		t.Fatalf("no partition 1 in\n%s", describe)
	}
	follower := strings.Trim(strings.Replace(","+m[2]+",", ","+m[1]+",", ",", 1), ",")[:1]
	for _, role := range []struct{ name, id string }{{"leader", m[1]}, {"follower", follower}} {
		var id int
		if _, err := fmt.Sscan(role.id, &id); err != nil {
			t.Fatal(err)
		}
		if err := k.cluster.Stop(id); err != nil {
			t.Fatal(err)
		}
		dir, err := k.cluster.DataDir(id)
		if err != nil {
			t.Fatal(err)
		}
		checkSegments(t, k, role.name, filepath.Join(dir, topic+"-1"))
		if err := k.cluster.Start(id); err != nil {
			t.Fatal(err)
		}
	}
}

func checkSegments(t *testing.T, k *tools, role, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) < 2 {
		t.Fatalf("%s: %d segments in %s, want several: %v", role, len(logs), dir, err)
	}
	var indexes []string
	for _, log := range logs {
		base := strings.TrimSuffix(log, ".log")
		indexes = append(indexes, base+".index", base+".timeindex")
	}
	out := k.run(t, "", "dump-log", "--files", strings.Join(indexes, ","), "--index-sanity-check")
	if n := strings.Count(out, "passed sanity check."); n != len(indexes) {
		t.Errorf("%s: %d of %d indexes passed the sanity check:\n%s", role, n, len(indexes), out)
	}
	out = k.run(t, "", "dump-log", "--files", strings.Join(indexes, ","), "--verify-index-only")
	quiet(t, role+" indexes", out)
	out = k.run(t, "", "dump-log", "--files", strings.Join(logs, ","))
	quiet(t, role+" segments", out)
	if n := strings.Count(out, "isvalid: true"); n == 0 || strings.Contains(out, "isvalid: false") {
		t.Errorf("%s: %d valid batches, and invalid ones: %v", role, n, strings.Contains(out, "isvalid: false"))
	}
	t.Logf("%s: %d segments are whole", role, len(logs))
}

// quiet fails when dump-log found something.
func quiet(t *testing.T, what, out string) {
	t.Helper()
	for _, found := range []string{"Mismatches in", "Found timestamp mismatch", "Found out of order timestamp", "Index offset:", "Exception", "invalid bytes"} {
		if strings.Contains(out, found) {
			t.Errorf("%s: dump-log found %q:\n%.2000s", what, found, out)
		}
	}
}
