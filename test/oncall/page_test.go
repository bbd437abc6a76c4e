package oncall

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/kubetest"
)

var rewrite = flag.Bool("rewrite", false, "write the examples of the page anew")

// TestPage compares what kubectl prints of each situation with the example in the page, between its markers.
func TestPage(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(kubetest.Root(), "docs", "operations", "conditions.md")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, r := range situations {
		begin, end := "<!-- example: "+r.name+" -->\n", "<!-- end -->"
		before, rest, found := strings.Cut(page, begin)
		example, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no example of %q", file, r.name)
		}
		now := s.print(r.play(t))
		if now != example && !*rewrite {
			t.Errorf("%s: the page shows of %q\n%s\nand kubectl shows\n%s\nIf that is better: go test ./test/oncall -rewrite", file, r.name, example, now)
		}
		page = before + begin + now + end + after
	}
	if *rewrite && page != string(b) {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What is replaced is replaced whatever it is, and nothing else.
func TestSettled(t *testing.T) {
	const text = `NAME   READY   AGE
demo   True    1s
  Creation Timestamp:  2026-11-29T23:00:00Z
  Resource Version:    214
  UID:                 0e6e0a0c-7a6b
Labels:                <none>   
  Message:             back-off 40s
Events:
  Type    Reason            Age   From               Message
  Normal  RestartingBroker  10s   fairlead-operator  restarting broker 1: in 5s
`
	const want = `NAME   READY   AGE
demo   True    12d
  Creation Timestamp:  2026-03-02T09:00:00Z
  Resource Version:    1
  UID:                 00000000-0000-0000-0000-000000000000
Labels:                <none>
  Message:             back-off 40s
Events:
  Type    Reason            Age   From               Message
  Normal  RestartingBroker  2m    fairlead-operator  restarting broker 1: in 5s
`
	if got := settled(text); got != want {
		t.Error(got)
	}
}
