package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// askEvery is the time between two looks at the cluster.
const askEvery = 250 * time.Millisecond

// Await calls f until it gives nil. After limit, or when the test's context ends, the test fails with what was waited for
// and f's last error.
func (c *Cluster) Await(t testing.TB, limit time.Duration, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := time.Now()
	if err := poll(ctx, askEvery, f); err != nil {
		t.Fatalf("wait %v for %s: %v", limit, what, err)
	}
	t.Logf("%s after %.1f s", what, time.Since(begin).Seconds())
}

// poll calls f until it gives nil or ctx ends. It gives f's last error that does not come from the end of ctx itself.
func poll(ctx context.Context, every time.Duration, f func(context.Context) error) error {
	var last error
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(every):
		}
	}
}

// Holds calls f for a while and fails the test on its first error: for what must not change.
func (c *Cluster) Holds(t testing.TB, during time.Duration, what string, f func(context.Context) error) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(askEvery) {
		if err := f(t.Context()); err != nil {
			t.Fatalf("%s, for %v: %v", what, during, err)
		}
	}
}

// Condition is nil when an object, KIND/NAME, has the condition with the status, for its current generation if it says for
// which; otherwise the error lists the conditions that it has.
func (c *Cluster) Condition(ctx context.Context, namespace, object, condition, status string) error {
	kind, name, _ := strings.Cut(object, "/")
	text, err := c.json(ctx, namespace, kind, name)
	if err != nil {
		return err
	}
	if err := hasCondition(text, condition, status); err != nil {
		return fmt.Errorf("%s: %w", object, err)
	}
	return nil
}

func hasCondition(object []byte, condition, status string) error {
	var o struct {
		Metadata struct{ Generation int64 }
		Status   struct {
			Conditions []struct {
				Type, Status, Reason, Message string
				ObservedGeneration            int64
			}
		}
	}
	if err := json.Unmarshal(object, &o); err != nil {
		return fmt.Errorf("read conditions: %w", err)
	}
	var have []string
	for _, c := range o.Status.Conditions {
		old := c.ObservedGeneration != 0 && c.ObservedGeneration < o.Metadata.Generation
		if c.Type == condition && c.Status == status && !old {
			return nil
		}
		line := fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message)
		if old {
			line += fmt.Sprintf(" of generation %d, now %d", c.ObservedGeneration, o.Metadata.Generation)
		}
		have = append(have, line)
	}
	if len(have) == 0 {
		return fmt.Errorf("want %s=%s, has no conditions", condition, status)
	}
	return fmt.Errorf("want %s=%s, has %s", condition, status, strings.Join(have, ", "))
}
