package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMain(m *testing.M) { Main(m, Options{Nodes: 3}) }

func TestNamespaceName(t *testing.T) {
	f := func(test, want string) {
		t.Helper()
		if got := namespaceName(test, "abcdefgh"); got != want || len(got) > 63 {
			t.Errorf("%s: %s, want %s", test, got, want)
		}
	}
	f("TestRoll", "e2e-roll-abcde")
	f("TestRoll/with_Load (3)", "e2e-roll-with-load-3-abcde")
	f("Test"+strings.Repeat("Long", 30), "e2e-"+strings.Repeat("long", 10)+"-abcde")
	f("Test", "e2e-abcde")
}

func TestRenamedImage(t *testing.T) {
	known := []string{"kube.example/pause:1", "sha256:0123", "host.example/library/fairlead:dev", "other.example/x/myfairlead:dev"}
	f := func(from, to, have, want, failure string) {
		t.Helper()
		gotHave, gotWant, err := renamed(known, from, to)
		if gotHave != have || gotWant != want || (err == nil) != (failure == "") || err != nil && !strings.Contains(err.Error(), failure) {
			t.Errorf("%s to %s: %q, %q, %v", from, to, gotHave, gotWant, err)
		}
	}
	f("fairlead:dev", "fairlead:next", "host.example/library/fairlead:dev", "host.example/library/fairlead:next", "")
	f("kube.example/pause:1", "pause:2", "kube.example/pause:1", "pause:2", "")
	f("lead:dev", "lead:next", "", "", "no image lead:dev")
}

func TestHasCondition(t *testing.T) {
	f := func(status, want string) {
		t.Helper()
		got := ""
		if err := hasCondition([]byte(`{"metadata":{"generation":3},"status":`+status+`}`), "Ready", "True"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
	f(`{"conditions":[{"type":"Other","status":"False"},{"type":"Ready","status":"True"}]}`, "")
	f(`{"conditions":[{"type":"Ready","status":"True","observedGeneration":3}]}`, "")
	f(`{"conditions":[{"type":"Ready","status":"True","observedGeneration":2,"reason":"R","message":"m"}]}`, "want Ready=True, has Ready=True (R: m) of generation 2, now 3")
	f(`{"conditions":[{"type":"Ready","status":"False","reason":"R","message":"m"}]}`, "want Ready=True, has Ready=False (R: m)")
	f(`{}`, "want Ready=True, has no conditions")
}

func TestPodReady(t *testing.T) {
	f := func(pod, want string) {
		t.Helper()
		var p Pod
		if err := json.Unmarshal([]byte(pod), &p); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := p.Ready(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", pod, got, want)
		}
	}
	f(`{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, "")
	f(`{"metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, "pod a is being deleted")
	f(`{"metadata":{"name":"a"},"status":{"phase":"Pending","containerStatuses":[{"name":"broker","state":{"waiting":{"reason":"ErrImagePull","message":"none"}}}]}}`,
		"pod a is Pending: broker waits: ErrImagePull none")
	f(`{"metadata":{"name":"a"},"status":{"phase":"Running","containerStatuses":[{"name":"broker","state":{"terminated":{"exitCode":2}}},{"name":"b","state":{"running":{}}}]}}`,
		"pod a is Running: broker ended with 2, b is not ready")
}

func TestContainerOfPod(t *testing.T) {
	var p Pod
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"a"},"status":{"containerStatuses":[
		{"name":"one","containerID":"containerd://11","state":{"running":{}}},{"name":"two","containerID":"containerd://22","state":{"waiting":{}}}]}}`), &p); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"": "11 <nil>", "one": "11 <nil>", "two": " container two of pod a does not run", "three": " pod a has no container three",
	} {
		id, err := p.container(name)
		if got := fmt.Sprint(id, " ", err); got != want {
			t.Errorf("container %q: %s, want %s", name, got, want)
		}
	}
}

func TestParseAudit(t *testing.T) {
	const log = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"system:serviceaccount:a:b"},"objectRef":{"resource":"statefulsets","apiGroup":"apps","namespace":"n","name":"x","subresource":"status"},"responseStatus":{"code":200}}
{"stage":"ResponseStarted","verb":"watch","user":{"username":"u"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"watch","user":{"username":"u"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"get","user":{"username":"u"},"responseStatus":{"code":403}}
{"stage":"ResponseComplete","verb":"cre`
	requests, err := parseAudit(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range requests {
		got = append(got, fmt.Sprint(r.Writes(), " ", r))
	}
	want := []string{"true system:serviceaccount:a:b patch statefulsets.apps/status n/x: 200", "false u watch pods /: 200", "false u get  /: 403"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := parseAudit(strings.NewReader("no json\n")); err == nil {
		t.Error("a line that is no JSON is no error")
	}
}

// What a poll gives is what was last seen, not that the time is up.
func TestPollGivesWhatWasLastSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		calls := 0
		err := poll(ctx, time.Second, func(ctx context.Context) error {
			calls++
			if calls == 10 {
				<-ctx.Done() // as a command that is ended
				return ctx.Err()
			}
			return fmt.Errorf("call %d", calls)
		})
		if err == nil || err.Error() != "call 9" {
			t.Errorf("%v, want call 9", err)
		}
		err = poll(ctx, time.Second, func(ctx context.Context) error { return errors.New("no") })
		if err == nil || err.Error() != "no" {
			t.Errorf("with a context that has ended: %v, want no", err)
		}
	})
}
