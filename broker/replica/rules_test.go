package replica

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestEachRuleIsInATranscript switches the rules off one by one: a transcript must then read otherwise. Those with which random
// schedules go wrong are in TestEachRuleIsNeeded too.
func TestEachRuleIsInATranscript(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	scripts := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts[filepath.Base(name)] = string(data)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(Rules{})) {
		rules := AllRules()
		reflect.ValueOf(&rules).Elem().FieldByIndex(f.Index).SetBool(false)
		var noticed []string
		for name, script := range scripts {
			if differs(script, rules) {
				noticed = append(noticed, name)
			}
		}
		if len(noticed) == 0 {
			t.Errorf("no transcript shows %s", f.Name)
		}
		t.Logf("%s: %v", f.Name, noticed)
	}
}

// differs tells whether a script plays otherwise under these rules. A machine that asserts what the rule would keep true counts.
func differs(script string, rules Rules) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = true
		}
	}()
	return play(script, rules) != script
}
