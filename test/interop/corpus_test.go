package interop

import (
	"hash/maphash"
	"strings"
	"testing"
)

func TestCheckerFindsBrokenPromises(t *testing.T) {
	c := &corpus{seed: maphash.MakeSeed()}
	for _, line := range []string{"a", "b\tc", "d", "e"} {
		c.sums = append(c.sums, maphash.String(c.seed, line))
	}
	for _, r := range []struct{ lines, want string }{
		{"0 0 0\ta|1 0 1\tb\tc|0 1 2\td|1 1 3\te", ""},
		{"0 0 0\ta|1 0 1\tb\tc|0 1 2\td", "1 of 4 lines did not come back, the first is 3"},
		{"0 0 0\ta|1 0 1\tb\tc|0 1 2\td|1 1 3\te|1 2 3\te", "line 3 came back twice"},
		{"0 0 2\td|0 1 0\ta|1 0 1\tb\tc|1 1 3\te", "partition 0: line 0 came after line 2"},
		{"0 0 0\ta|0 2 1\tb\tc|0 3 2\td|0 4 3\te", "partition 0: offset 2, want 1"},
		{"0 0 0\tA", `line 0 came back changed: "A"`},
		{"0 0 9\ta", `line 9 came back changed: "a"`},
		{"nothing", `a line that nobody sent: "nothing"`},
	} {
		k := newChecker(c)
		for _, line := range strings.Split(r.lines, "|") {
			k.line([]byte(line))
		}
		got := strings.Join(k.finish(), "\n")
		if r.want == "" && got != "" || !strings.Contains(got, r.want) {
			t.Errorf("%q: %q, want %q", r.lines, got, r.want)
		}
	}
}
