package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	f, err := parse([]string{"--namespace=streams", "--image=registry.example/fairlead:1", "--leader-elect", "--leader-election-namespace=ops",
		"--metrics-bind-address=:1", "--health-probe-bind-address=0", "--log-level=debug"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := f.options
	if o.Namespace != "streams" || o.Image != "registry.example/fairlead:1" || !o.LeaderElect || o.LeaderElectionNamespace != "ops" ||
		o.MetricsAddress != ":1" || o.ProbeAddress != "0" || f.logLevel != slog.LevelDebug {
		t.Errorf("%+v", f)
	}
}

func TestWithoutFlags(t *testing.T) {
	f, err := parse(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := f.options; o.Namespace != "" || o.LeaderElect || o.MetricsAddress == "" || o.ProbeAddress == "" || o.Image == "" || f.logLevel != slog.LevelInfo {
		t.Errorf("%+v", f)
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"--nosuch"}, {"argument"}, {"--log-level=loud"}} {
		if _, err := parse(args, &bytes.Buffer{}); !errors.As(err, new(usageError)) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), []string{"--version"}, &out); err != nil || !strings.HasPrefix(out.String(), "fairlead-operator ") {
		t.Errorf("%q %v", out.String(), err)
	}
}

func TestDefaultImage(t *testing.T) {
	if got := defaultImage("1.2.0"); got != "fairlead:1.2.0" {
		t.Error(got)
	}
	if got := defaultImage(""); got != "fairlead:dev" {
		t.Error(got)
	}
}
