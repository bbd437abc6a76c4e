package sim

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

var explore = flag.Int("explore", 0, "for each rule, look for the first seed that notices its absence, among this many")

// TestExploreRules prints, for each rule, the first seed that notices its absence and what noticed it. It fills the table of TestRulesOff.
func TestExploreRules(t *testing.T) {
	if *explore == 0 {
		return
	}
	for _, rule := range ruleNames() {
		caught := "nothing notices"
		for seed := range uint64(*explore) {
			if r := Run(withoutRule(rule, seed+1)); r.Failure != "" {
				caught = fmt.Sprintf("seed %d: %s", seed+1, strings.SplitN(r.Failure, "\n", 2)[0])
				break
			}
		}
		t.Logf("%-40s %s", rule, caught)
	}
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
