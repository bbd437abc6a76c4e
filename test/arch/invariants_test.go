package arch

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// docs/invariants.md names tests and files of tests that there are, and has a row for each rule with a switch.
func TestInvariantsDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "invariants.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	// A package in backticks and the names that follow it, up to the next package or the end of the line.
	mention := regexp.MustCompile("`((?:broker|test)/[a-z]+)`([^`\n]*)")
	name := regexp.MustCompile(`\b((?:Test|Fuzz)[A-Z]\w*|\w+\.txt)\b`)
	for _, m := range mention.FindAllSubmatch(text, -1) {
		pkg := string(m[1])
		tests := testsOf(t, pkg)
		for _, n := range name.FindAllString(string(m[2]), -1) {
			named++
			if strings.HasSuffix(n, ".txt") {
				if _, err := os.Stat(filepath.Join(root, pkg, "testdata", n)); err != nil {
					t.Error(err)
				}
			} else if !tests[n] {
				t.Errorf("%s has no %s", pkg, n)
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d tests are named: this test does not read the page as it is written", named)
	}
	for _, rules := range []any{replica.Rules{}, metactl.Rules{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(rules)) {
			if !strings.Contains(string(text), "| `"+f.Name+"` |") {
				t.Errorf("no row has the switch %s", f.Name)
			}
		}
	}
}

// testsOf are the names of a package's tests and fuzz targets.
func testsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of tests in %s: %v", len(files), pkg, err)
	}
	tests := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
	}
	return tests
}
