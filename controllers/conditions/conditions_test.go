package conditions

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of the documentation anew")

func TestTheTableIsSound(t *testing.T) {
	seen, good := map[string]bool{}, map[string]bool{}
	statusOf := map[string]metav1.ConditionStatus{}
	for _, r := range Rows() {
		name := string(r.Kind) + " " + string(r.Type)
		if seen[name+string(r.Reason)] {
			t.Errorf("%s %s is there twice", name, r.Reason)
		}
		seen[name+string(r.Reason)] = true
		good[name] = good[name] || r.good()
		if r.Means == "" || !strings.HasSuffix(r.Means, ".") || r.Lifts != "" && !strings.HasSuffix(r.Lifts, ".") {
			t.Errorf("%s %s: sentences, please", name, r.Reason)
		}
		if r.Status != metav1.ConditionTrue && r.Lifts == "" {
			t.Errorf("%s %s: what lifts it?", name, r.Reason)
		}
		if strings.Contains(r.Means+r.Lifts, "|") {
			t.Errorf("%s %s: a bar breaks the table", name, r.Reason)
		}
		statusOf[name] = r.Status
	}
	for name := range statusOf {
		if !good[name] && name != "Cluster Paused" {
			t.Errorf("%s is never well", name)
		}
	}
	// In the order of the table nothing bad comes after something good, but for a Topic's two conditions, which are not summed up.
	wasGood := false
	for _, r := range clusterRows {
		if wasGood && !r.good() {
			t.Errorf("%s %s is ranked as good", r.Type, r.Reason)
		}
		wasGood = r.good()
	}
}

func TestMerge(t *testing.T) {
	t0, t1 := time.Unix(100, 500), time.Unix(200, 500)
	first := Merge(Cluster, nil, []metav1.Condition{New(Cluster, Replicated, InSync, "a"), New(Cluster, Available, Serving, "b")}, 1, t0)
	if first[0].Type != "Available" || first[1].Type != "Replicated" || first[0].LastTransitionTime != metav1.NewTime(time.Unix(100, 0)) || first[0].ObservedGeneration != 1 {
		t.Errorf("%+v", first)
	}
	t.Run("the summary comes first", func(t *testing.T) {
		c := Merge(Cluster, nil, []metav1.Condition{New(Cluster, Available, Serving, ""), New(Cluster, Ready, AsWanted, "")}, 1, t0)
		if c[0].Type != "Ready" || c[1].Type != "Available" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a new message and reason keep the time", func(t *testing.T) {
		c := Merge(Cluster, first, []metav1.Condition{New(Cluster, Available, Serving, "c")}, 2, t1)
		if len(c) != 1 || c[0].LastTransitionTime != first[0].LastTransitionTime || c[0].Message != "c" || c[0].ObservedGeneration != 2 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a new status has a new time", func(t *testing.T) {
		c := Merge(Cluster, first, []metav1.Condition{New(Cluster, Available, OfflinePartitions, "c")}, 2, t1)
		if c[0].LastTransitionTime != metav1.NewTime(time.Unix(200, 0)) {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a condition of others stays", func(t *testing.T) {
		c := Merge(Cluster, []metav1.Condition{{Type: "Backup", Status: metav1.ConditionTrue}, {Type: "Paused"}}, nil, 1, t1)
		if len(c) != 1 || c[0].Type != "Backup" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a message is no longer than the API takes", func(t *testing.T) {
		c := Merge(Cluster, nil, []metav1.Condition{New(Cluster, Available, Serving, strings.Repeat("ü", maxMessage))}, 1, t1)
		if n := len(c[0].Message); n > maxMessage || n < maxMessage-4 {
			t.Error(n)
		}
	})
}

func TestSummary(t *testing.T) {
	well := []metav1.Condition{New(Cluster, Available, Serving, ""), New(Cluster, StorageReady, LargerThanWanted, "x"), New(Cluster, Progressing, Converged, "")}
	for _, r := range []struct {
		what   string
		others []metav1.Condition
		status metav1.ConditionStatus
		reason Reason
		text   string
	}{
		{"all is well, and a note is not in the way", well, metav1.ConditionTrue, AsWanted, "3 brokers serve"},
		{"the worst is named first, the rest by reason", append(well, New(Cluster, Replicated, UnderReplicated, "2 partitions"), New(Cluster, BrokersReady, PodFailed, "pod a-0: crashes")),
			metav1.ConditionFalse, PodFailed, "pod a-0: crashes (also UnderReplicated)"},
		{"a cause is told with what it does to clients", append(well, New(Cluster, Available, UnderMinISR, "2 partitions"), New(Cluster, BrokersReady, NodeLost, "pod a-0: gone"), New(Cluster, Replicated, UnderReplicated, "x")),
			metav1.ConditionFalse, UnderMinISR, "2 partitions; pod a-0: gone (also UnderReplicated)"},
		{"what is going on is not ready yet", []metav1.Condition{New(Cluster, Progressing, Rolling, "restarts broker 1")}, metav1.ConditionFalse, Rolling, "restarts broker 1"},
		{"nothing is known, for the same reason twice", []metav1.Condition{New(Cluster, Available, BrokersUnreachable, "refused"), New(Cluster, Replicated, BrokersUnreachable, "refused")},
			metav1.ConditionUnknown, BrokersUnreachable, "refused"},
		{"a condition of others does not count", []metav1.Condition{{Type: "Backup", Status: metav1.ConditionFalse}}, metav1.ConditionTrue, AsWanted, "3 brokers serve"},
	} {
		c := Summary(r.others, "3 brokers serve")
		if c.Status != r.status || c.Reason != string(r.reason) || c.Message != r.text {
			t.Errorf("%s: %+v", r.what, c)
		}
	}
}

func TestAReasonThatTheTypeDoesNotHaveIsABug(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(Topic, Ready, Rolling, "")
}

// docs/operations/conditions.md has the tables of this package between its markers.
func TestDocumentation(t *testing.T) {
	const page = "../../docs/operations/conditions.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, k := range []Kind{Cluster, Topic} {
		begin, end := "<!-- table of "+string(k)+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(got, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no table of %s", page, k)
		}
		got = before + begin + Markdown(k) + end + after
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(text) {
		t.Errorf("%s is not current: go test ./controllers/conditions -rewrite", page)
	}
}
