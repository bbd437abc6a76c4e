package sim

import (
	"flag"
	"reflect"
	"strings"
	"testing"
)

var explore = flag.Int("explore", 0, "for each rule, look for the first seed that notices its absence, among this many")

// rulesSeeds is how many seeds a rule may need to be missed: each was missed within 22 when this was written.
const rulesSeeds = 80

// unnoticed are the rules whose absence nothing notices within [rulesSeeds]: for these the simulation is too weak so far. What each would take:
var unnoticed = map[string]string{
	"replica.FullTruncationMovesWatermark": "a follower that is out of range and asked for its watermark before the next answer",
	"replica.FenceLeaderEpoch":             "answers of a former leader that are later than the next election of the same broker",
	"replica.RefuseNewerEpochs":            "a leader that appends a newer epoch between a fetch and its answer",
	"replica.JoiningHoldsWatermark":        "a checker of the joining itself: data is safe without it, joining takes longer",
	"replica.JoinAtEpochStart":             "two elections within one fetch of a replica outside the ISR",
	"replica.FenceBrokerEpoch":             "a power loss of a follower that the leader does not hear of",
	"replica.FollowerTruncatesFully":       "records deleted while a follower is away for long",
	"replica.FlushGatesPosition":           "a blackout between append and flush; today flushes follow within 4 ms",
	"metactl.NewDirectory":                 "a wiped disk of the last member of an ISR",
	"metactl.AlterEpochs":                  "a late copy of an ISR change that takes back a shrink, and then a loss",
	"metactl.AlterBrokerEpochs":            "the same, across a restart",
	"metactl.StaleBrokerEpochs":            "a late heartbeat of a former registration that unfences the next one too early",
	"metactl.MostCompleteLog":              "an unclean election among logs of different length",
}

// TestRulesOff switches each rule off in turn and demands that some checker notices.
func TestRulesOff(t *testing.T) {
	for _, rule := range ruleNames() {
		if _, weak := unnoticed[rule]; weak {
			continue
		}
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			seed, failure := firstToNotice(rule, rulesSeeds)
			if failure == "" {
				t.Fatalf("nothing notices within %d seeds that %s is off", rulesSeeds, rule)
			}
			t.Logf("seed %d: %s", seed, failure)
		})
	}
}

// TestExploreRules prints, for each rule, the first seed that notices its absence and what noticed it, also for those of unnoticed.
func TestExploreRules(t *testing.T) {
	if *explore == 0 {
		return
	}
	for _, rule := range ruleNames() {
		seed, failure := firstToNotice(rule, *explore)
		t.Logf("%-40s %d %s", rule, seed, failure)
	}
}

func firstToNotice(rule string, seeds int) (seed uint64, failure string) {
	for seed = 1; seed <= uint64(seeds); seed++ {
		if r := Run(withoutRule(rule, seed)); r.Failure != "" {
			failure, _, _ = strings.Cut(r.Failure, "\n")
			return seed, failure
		}
	}
	return 0, ""
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
