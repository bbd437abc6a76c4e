package sim

import (
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var explore = flag.Int("explore", 0, "for each rule, look who notices its absence in this many seeds")

// rulesSeeds is how many seeds of weather a rule may need to be missed: each was missed within 6 when this was written.
const rulesSeeds = 80

// scenarioSeeds is with how many seeds each scenario is played: they differ in delays only.
const scenarioSeeds = 3

// weathered are the rules that weather misses soon, with the checkers that notice.
var weathered = map[string][]string{
	"replica.TruncateBeforeWatermark": {"watermark"},
	"replica.KeepLastFetchedEpoch":    {"committed", "convergence"},
	"replica.MaximalISR":              {"copies", "committed"},
	"replica.MinISRGatesProduce":      {"min ISR"},
	"replica.LatestAfterEpochStart":   {"latest"},
	"replica.WatermarkNeverBack":      {"watermark"},
	"metactl.CleanElection":           {"elections"},
	"metactl.EligibleReplicas":        {"leaving"},
	"metactl.UncleanStop":             {"anew"},
	"metactl.DuplicateBroker":         {"ids"},
}

// TestRulesOff switches each rule off in turn and demands that a checker notices: in the rule's scenario, else in weather. A scenario must pass when
// all rules are on.
func TestRulesOff(t *testing.T) {
	for _, rule := range ruleNames() {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			directed := false
			for _, sc := range scenarios {
				if sc.rule == rule {
					directed = true
					playWithout(t, rule, sc.scenario, sc.checkers)
				}
			}
			if directed {
				return
			}
			if len(weathered[rule]) == 0 {
				t.Fatal("there is neither a scenario nor a checker that notices by weather")
			}
			seed, r := firstToNotice(rule, weathered[rule])
			if r.Checker == "" {
				t.Fatalf("none of the checkers %q notices within %d seeds that the rule is off", weathered[rule], rulesSeeds)
			}
			t.Logf("seed %d: %s", seed, firstLine(r.Failure))
		})
	}
}

// playWithout plays a scenario with all rules on, when it must pass, and with one off, when a checker must notice.
func playWithout(t *testing.T, rule string, sc scenario, checkers []string) {
	for seed := range uint64(scenarioSeeds) {
		if r := runScenario(DefaultOptions(seed), sc); r.Failure != "" {
			t.Errorf("seed %d with all rules on: %s", seed, r.Failure)
		}
		r := runScenario(withoutRule(rule, seed), sc)
		t.Logf("seed %d: %s", seed, firstLine(r.Failure))
		if !slices.Contains(checkers, r.Checker) {
			t.Errorf("seed %d: the checker %q notices, not one of %q", seed, r.Checker, checkers)
		}
	}
}

// TestInvariantsNameCheckers keeps docs/invariants.md in step with the tables of this test.
func TestInvariantsNameCheckers(t *testing.T) {
	page, err := os.ReadFile("../../docs/invariants.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := ruleNames()
	for _, rule := range rules {
		checkers := weathered[rule]
		for _, sc := range scenarios {
			if sc.rule == rule {
				checkers = sc.checkers
			}
		}
		_, field, _ := strings.Cut(rule, ".")
		_, row, _ := strings.Cut(string(page), "| `"+field+"` |")
		if want := "`broker/sim` TestRulesOff/" + rule + " by " + strings.Join(checkers, ", "); !strings.Contains(firstLine(row), want) {
			t.Errorf("the row of %s does not say: %s", field, want)
		}
		for _, c := range checkers {
			if !strings.Contains(string(page), "\n| "+c+" |") {
				t.Errorf("no row tells of the checker %s", c)
			}
		}
	}
	named := slices.Collect(maps.Keys(weathered))
	for _, sc := range scenarios {
		named = append(named, sc.rule)
	}
	for _, rule := range named {
		if !slices.Contains(rules, rule) {
			t.Errorf("%s is no rule", rule)
		}
	}
}

// TestExploreRules prints, for each rule, which checkers notice its absence in weather, and in how many of the seeds.
func TestExploreRules(t *testing.T) {
	for _, rule := range ruleNames() {
		by := map[string]int{}
		for seed := range uint64(*explore) {
			if r := Run(withoutRule(rule, seed+1)); r.Failure != "" {
				by[r.Checker]++
			}
		}
		t.Logf("%-40s %v", rule, by)
	}
}

// firstToNotice is the first seed in which one of these checkers notices that a rule is off.
func firstToNotice(rule string, checkers []string) (seed uint64, r Result) {
	for seed = 1; seed <= rulesSeeds; seed++ {
		if r = Run(withoutRule(rule, seed)); slices.Contains(checkers, r.Checker) {
			return seed, r
		}
	}
	return 0, Result{}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// ruleNames lists the switches of both machines.
func ruleNames() []string {
	var names []string
	o := DefaultOptions(0)
	for _, f := range reflect.VisibleFields(reflect.TypeOf(o.Replica)) {
		names = append(names, "replica."+f.Name)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(o.Controller)) {
		names = append(names, "metactl."+f.Name)
	}
	return names
}

// withoutRule are the options of a seed with one rule off.
func withoutRule(name string, seed uint64) Options {
	o := DefaultOptions(seed)
	machine, field, _ := strings.Cut(name, ".")
	rules := reflect.ValueOf(&o.Replica).Elem()
	if machine == "metactl" {
		rules = reflect.ValueOf(&o.Controller).Elem()
	}
	rules.FieldByName(field).SetBool(false)
	return o
}
