package kubetest

import (
	"testing"
	"time"
)

// Await looks until it is so, and fails the test with the last error when it is not within the limit.
func Await(t testing.TB, limit time.Duration, look func() error) {
	t.Helper()
	const pause = 20 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		err := look()
		if err == nil {
			return
		}
		select {
		case <-over.C:
			t.Fatalf("not so within %v: %v", limit, err)
		case <-tick.C:
		}
	}
}
