package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// metric is a kind of figure.
type metric struct {
	unit      string
	moreWins  bool
	precision int
}

var (
	throughput = metric{"MB/s", true, 1}
	cost       = metric{"s/GB", false, 2}
	latency    = metric{"ms", false, 2}
	memory     = metric{"MB", false, 1}
	duration   = metric{"s", false, 3}
)

func (m metric) format(v float64) string { return strconv.FormatFloat(v, 'f', m.precision, 64) }

// goal is what the project wants of a figure: at most a part of Kafka's, or at most a value.
type goal struct {
	ratio, limit float64 // 0: none
}

// goals by the name of the figure.
var goals = map[string]goal{
	"produce 1 KB, RF 3, acks=all, broker CPU":     {ratio: 0.5},
	"produce 100 B, RF 3, acks=all, broker CPU":    {ratio: 0.5},
	"produce 1 KB, RF 1, acks=1, broker CPU":       {ratio: 0.5},
	"produce 100 B, RF 1, acks=1, broker CPU":      {ratio: 0.5},
	"latency at 20 MB/s, RF 3, acks=all, p99":      {ratio: 0.5},
	"RSS of a broker of one, idle":                 {limit: 60},
	"RSS of a broker of three, idle":               {limit: 60},
	"without acks after kill -9, median partition": {limit: 1},
}

// report collects figures in the order in which they were first noted.
type report struct {
	Systems []string           `json:"systems"`
	Machine string             `json:"machine"`
	At      time.Time          `json:"at"`
	Figures []*figure          `json:"figures"`
	byName  map[string]*figure //
}

type figure struct {
	Name   string             `json:"name"`
	Unit   string             `json:"unit"`
	Values map[string]float64 `json:"values"` // by system
	metric metric
}

func newReport(systems []system) *report {
	r := &report{Machine: fmt.Sprintf("%s/%s, cores: %d, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()), At: time.Now().UTC(), byName: map[string]*figure{}}
	for _, s := range systems {
		r.Systems = append(r.Systems, s.name)
	}
	return r
}

func (r *report) add(system, name string, m metric, value float64) {
	f := r.byName[name]
	if f == nil {
		f = &figure{Name: name, Unit: m.unit, Values: map[string]float64{}, metric: m}
		r.byName[name] = f
		r.Figures = append(r.Figures, f)
	}
	f.Values[system] = value
}

// ratio is the first system's figure as a part of the second's.
func (r *report) ratio(f *figure) (float64, bool) {
	if len(r.Systems) != 2 {
		return 0, false
	}
	a, okA := f.Values[r.Systems[0]]
	b, okB := f.Values[r.Systems[1]]
	return a / b, okA && okB && b != 0
}

// verdict is the goal of a figure and whether it is met, or "".
func (r *report) verdict(f *figure) string {
	g, ok := goals[f.Name]
	value, there := f.Values["Fairlead"]
	if !ok || !there {
		return ""
	}
	word := map[bool]string{true: "met", false: "**missed**"}
	if g.limit > 0 {
		return fmt.Sprintf("at most %v %s: %s", g.limit, f.Unit, word[value <= g.limit])
	}
	ratio, ok := r.ratio(f)
	if !ok {
		return ""
	}
	return fmt.Sprintf("at most %v of Kafka's: %s", g.ratio, word[ratio <= g.ratio])
}

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Fairlead and Apache Kafka in one run\n\n%s; %s.\n\n| measure | unit |", r.At.Format("2006-01-02 15:04 UTC"), r.Machine)
	for _, s := range r.Systems {
		fmt.Fprintf(&b, " %s |", s)
	}
	b.WriteString(" ratio | goal |\n|---|---|" + strings.Repeat("---:|", len(r.Systems)) + "---:|---|\n")
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "| %s | %s |", f.Name, f.Unit)
		for _, s := range r.Systems {
			if v, ok := f.Values[s]; ok {
				fmt.Fprintf(&b, " %s |", f.metric.format(v))
			} else {
				b.WriteString(" |")
			}
		}
		if ratio, ok := r.ratio(f); ok {
			fmt.Fprintf(&b, " %.3f |", ratio)
		} else {
			b.WriteString(" |")
		}
		fmt.Fprintf(&b, " %s |\n", r.verdict(f))
	}
	return b.String()
}

func (r *report) print(w io.Writer) { fmt.Fprint(w, r.markdown()) }

// write puts report.md and report.json into a folder.
func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), data, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "report.md"), []byte(r.markdown()), 0o644)
}
