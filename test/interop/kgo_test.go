package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// kgoExceptions are tests of franz-go that are not run: what they need and why it is not there.
// docs/compatibility.md repeats them for readers.
var kgoExceptions = map[string]string{
	"TestTxnEtl": "transactions: AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit",
}

const (
	needsShareGroups = "share groups: ShareFetch 2 and ShareAcknowledge 2"
	needsKIP848      = "consumer groups of KIP-848: ConsumerGroupHeartbeat"
	needsSASL        = "listeners with SASL"
)

// kgoSkips are tests that skip themselves, with what they miss. Any other that does is a failure: then an API has
// disappeared from what the brokers advertise. One that no longer skips itself is a failure too, and leaves the list.
var kgoSkips = map[string]string{
	"TestConsumeRegexShareSkipsInternal": needsShareGroups,
	"TestShareGroup":                     needsShareGroups,
	"TestShareGroupAckOnClose":           needsShareGroups,
	"TestShareGroupETL":                  needsShareGroups,
	"TestShareGroupOffsetsAdmin":         needsShareGroups,
	"Test848RegexBrokerResolves":         needsKIP848,
	"TestGroupETL/range/848":             needsKIP848,
	"TestGroupETL/sticky/848":            needsKIP848,
	"TestGroupETL/sticky/848/static":     needsKIP848,
	"TestGroupSimple/848":                needsKIP848,
	"TestOAuthAuth":                      needsSASL,
	"TestSCRAMAuth":                      needsSASL,
	"TestSCRAMAuthBadCredentials":        needsSASL,
	// Kafka advertises versions that it does not serve as well, for librdkafka's sake (KAFKA-18659).
	"TestIssueProduceBrokerTooOldFailsRecords": "brokers that do not advertise Produce 2",
}

// franz-go's own tests pass against the cluster, but for the two lists above.
func TestFranzGoSuite(t *testing.T) {
	c := cluster(t, nil)
	dir, err := copyModule(t.TempDir(), "github.com/twmb/franz-go")
	if err != nil {
		t.Fatal(err)
	}
	records := os.Getenv("INTEROP_KGO_RECORDS")
	if records == "" {
		records = "50000"
	}
	args := []string{"test", "-json", "-count=1", "-timeout", "20m"}
	if skip := exceptions(); skip != "" {
		args = append(args, "-skip", skip)
	}
	cmd := exec.Command("go", append(args, "./pkg/kgo")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "KGO_SEEDS="+strings.Join(c.Bootstrap, ","), "KGO_TEST_RF=3", "KGO_TEST_RECORDS="+records,
		"KGO_TEST_STABLE_FETCH=1", "KGO_LOG_LEVEL=none")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	runErr := cmd.Run()
	r, err := readResults(&out)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range r.names("fail") {
		t.Errorf("%s failed:\n%s", name, tail(r.output[name], 30))
	}
	for _, name := range r.names("skip") {
		if _, known := kgoSkips[name]; !known {
			t.Errorf("%s skipped itself: %s", name, tail(r.output[name], 2))
		}
	}
	for name := range kgoSkips {
		if o := r.outcome[name]; o != "skip" {
			t.Errorf("%s is listed as skipped and did %q", name, o)
		}
	}
	t.Logf("passed: %d, failed: %d, skipped: %d", len(r.names("pass")), len(r.names("fail")), len(r.names("skip")))
	if runErr != nil && len(r.names("fail")) == 0 {
		t.Errorf("go test: %v: %s\n%s", runErr, stderr.String(), tail(r.output[""], 30))
	}
	if len(r.names("pass")) < 20 {
		t.Errorf("only %d tests passed: did the suite run at all?", len(r.names("pass")))
	}
}

func exceptions() string {
	var names []string
	for name := range kgoExceptions {
		names = append(names, "^"+name+"$")
	}
	sort.Strings(names)
	return strings.Join(names, "|")
}

// copyModule copies a module out of the cache, whose folders cannot be written to.
func copyModule(to, module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	dir := filepath.Join(to, "module")
	if out, err := exec.Command("cp", "-r", "--no-preserve=mode", strings.TrimSpace(string(out)), dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy module %s: %w: %s", module, err, out)
	}
	return dir, nil
}

// results are outcomes of tests by name, and their output; "" is the package.
type results struct {
	outcome map[string]string // pass, fail, skip
	output  map[string][]string
}

func readResults(out *bytes.Buffer) (results, error) {
	r := results{map[string]string{}, map[string][]string{}}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			r.output[""] = append(r.output[""], lines.Text())
			continue
		}
		switch e.Action {
		case "output":
			r.output[e.Test] = append(r.output[e.Test], strings.TrimRight(e.Output, "\n"))
		case "pass", "fail", "skip":
			if e.Test != "" {
				r.outcome[e.Test] = e.Action
			}
		}
	}
	return r, lines.Err()
}

func (r results) names(outcome string) []string {
	var names []string
	for name, o := range r.outcome {
		if o == outcome {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func tail(lines []string, n int) string { return strings.Join(lines[max(0, len(lines)-n):], "\n") }
