package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A wrong command line is told with the verb and what is wrong in it.
func TestWrongUse(t *testing.T) {
	for line, want := range map[string]string{
		"bogus":                `no verb "bogus"`,
		"dev extra":            `unexpected argument "extra"`,
		"dev -o novalue":       `invalid value "novalue" for flag -o: want key=value`,
		"dev --brokers many":   `invalid value "many" for flag -brokers: parse error`,
		"dev stop-broker":      "dev stop-broker: want one broker ID",
		"dev stop-broker one":  `dev stop-broker: "one" is no broker ID`,
		"dev start-broker 1 2": "dev start-broker: want one broker ID",
		"dev wait-ready x":     `dev wait-ready: "x" is no broker ID`,
		"broker":               "broker: --config FILE is needed",
		"config everything":    "config: want topic or broker",
		"dev apply":            "dev apply: -f FILE is needed",
		"dev apply -f a b":     `unexpected argument "b"`,
		"pod broker":           `unexpected argument "broker"`,
	} {
		var out strings.Builder
		err := run(context.Background(), strings.Fields(line), &out)
		if !errors.As(err, new(usageError)) || err.Error() != want {
			t.Errorf("fairlead %s: %v, want %s", line, err, want)
		}
	}
}

// Operating errors are one line that says what and where.
func TestOneLineErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.properties")
	if err := os.WriteFile(bad, []byte("node.id=x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const emptyText = "node.id=1\nlog.dirs=/x\nbroker.rack=${file:/dev/null}\n"
	empty := filepath.Join(dir, "empty.properties")
	if err := os.WriteFile(empty, []byte(emptyText), 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"broker --config " + dir + "/none":  "read settings: open " + dir + "/none: no such file or directory",
		"broker --config " + empty:          empty + ": refers to /dev/null, which is empty",
		"dev -f " + dir + "/none":           "read manifest: open " + dir + "/none: no such file or directory",
		"dev -f " + bad + " --dir " + dir:   bad + ": document 1, line 1: want fields, got the string \"node.id=x\"",
		"dev apply -f " + empty:             empty + ": document 1, line 1: want fields, got the string " + strconv.Quote(strings.Join(strings.Fields(emptyText), " ")),
		"broker --config " + bad:            bad + ": Invalid value x for configuration node.id: Not a number of type INT",
		"dev stop-broker 0 --dir " + dir:    dir + " holds no cluster of `fairlead dev`",
		"dev --brokers 0x1000 --dir " + dir: "4096 brokers: want 1 to 100",
	} {
		err := run(context.Background(), strings.Fields(line), &strings.Builder{})
		if err == nil || oneLine(err.Error()) != want {
			t.Errorf("fairlead %s: %v, want %s", line, err, want)
		}
	}
	if got := oneLine("a\nb  c"); got != "a; b c" {
		t.Errorf("%q", got)
	}
}

func TestHelpNamesEveryVerb(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), []string{"help"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs() {
		if !strings.Contains(out.String(), "  fairlead "+v.name) || !strings.Contains(out.String(), v.what) {
			t.Errorf("help lacks %s", v.name)
		}
	}
}
