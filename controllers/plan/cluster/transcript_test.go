package cluster

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts anew")

// The transcripts show what a cluster's life looks like, plan by plan: read the difference when one changes.
func TestTranscripts(t *testing.T) {
	for _, r := range []struct {
		name  string
		begin func(t *testing.T) *world
		edits []edit
	}{
		{"founding", func(t *testing.T) *world { return newWorld(t, 3) }, []edit{{"a Cluster of 3 brokers is made", func(*world) {}}}},
		{"roll", of(3), []edit{{"another image", func(w *world) { w.edit(image("fairlead:2")) }}}},
		{"bad_image", of(3), []edit{
			{"an image that does not exist", func(w *world) { w.bad["fairlead:none"] = "ErrImagePull"; w.edit(image("fairlead:none")) }},
			{"the image of before", func(w *world) { w.edit(image("")) }},
		}},
		{"growth", of(3), []edit{{"twice the size", func(w *world) { w.edit(size("2Gi")) }}}},
		{"scale_in", of(4), []edit{
			{"one broker fewer", func(w *world) { w.edit(replicas(3)) }},
			{"its replicas are moved away", func(w *world) { w.replicas[3] = 0 }},
		}},
		{"settings", of(3), []edit{
			{"a setting that is taken live and one that is read at the start", func(w *world) {
				w.edit(func(s *v1alpha1.ClusterSpec) {
					s.Config = map[string]string{"log.retention.ms": "1000", "default.replication.factor": "2"}
				})
			}},
			{"the live one is taken out", func(w *world) { w.edit(func(s *v1alpha1.ClusterSpec) { delete(s.Config, "log.retention.ms") }) }},
		}},
	} {
		t.Run(r.name, func(t *testing.T) {
			w := r.begin(t)
			var b strings.Builder
			for _, e := range r.edits {
				e.do(w)
				b.WriteString(e.what + "\n----\n" + w.play() + "\n")
			}
			file := filepath.Join("testdata", r.name+".txt")
			if *rewrite {
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("%s differs:\n%s", file, b.String())
			}
		})
	}
}

type edit struct {
	what string
	do   func(w *world)
}

func of(brokers int32) func(t *testing.T) *world {
	return func(t *testing.T) *world { return converged(t, brokers) }
}

// settledPlans is after how many plans without anything new a transcript ends.
const settledPlans = 6

// play prints the actions of plans, and the record and Ready where they change, until nothing does any more.
func (w *world) play() string {
	var b strings.Builder
	last, still := "", 0
	for n := 1; n < patience && still < settledPlans; n++ {
		p := w.step()
		now := ""
		if op := p.Status.Operation; op != nil {
			now += fmt.Sprintf("  recorded: %s of broker %d\n", op.Type, op.Broker)
		}
		c := conditions.Get(p.Status.Conditions, conditions.Ready)
		now += fmt.Sprintf("  Ready %s, %s: %s\n", c.Status, c.Reason, c.Message)
		if still++; len(p.Actions) == 0 && now == last {
			continue
		}
		still = 0
		fmt.Fprintf(&b, "plan %d\n", n)
		for _, a := range p.Actions {
			b.WriteString("  " + a.String() + "\n")
		}
		if now != last {
			b.WriteString(now)
		}
		last = now
	}
	return b.String()
}
