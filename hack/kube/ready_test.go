package main

import (
	"testing"
	"time"
)

func TestNodesReady(t *testing.T) {
	started := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
	f := func(items, want string) {
		t.Helper()
		wants(t, items, nodesReady([]byte(`{"items":[`+items+`]}`), []readiness{{node{1}, started}}), want)
	}
	const said = `"lastHeartbeatTime":"2026-01-01T00:00:10Z"`
	f(`{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True",`+said+`}]}}`, "")
	f(`{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:09Z"}]}}`, "node n1 has said nothing since it was started")
	f(`{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"False","message":"no network"}]}}`, "node n1 is not ready: no network")
	f(`{"metadata":{"name":"n1"},"spec":{"taints":[{"key":"a/b"}]},"status":{"conditions":[{"type":"Ready","status":"True",`+said+`}]}}`, "node n1 has the taint a/b")
	f(`{"metadata":{"name":"n1"}}`, "node n1 has no condition Ready")
	f(`{"metadata":{"name":"n2"}}`, "node n1 has not registered")
}
