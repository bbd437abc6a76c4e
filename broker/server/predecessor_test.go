package server

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

func TestAStartWaitsForItsPredecessorAndForNothingElse(t *testing.T) {
	f := func(what string, errs func(waited time.Duration) error, wantErr error, wantWait time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := retryWhile(vfs.ErrLocked, func() error { return errs(time.Since(began)) })
			if !errors.Is(err, wantErr) {
				t.Errorf("%s: %v, want %v", what, err, wantErr)
			}
			if waited := time.Since(began); waited < wantWait || waited > wantWait+predecessorPause {
				t.Errorf("%s: waited %v, want %v", what, waited, wantWait)
			}
		})
	}
	other := errors.New("no such thing")
	f("nobody holds it", func(time.Duration) error { return nil }, nil, 0)
	f("given back after half the limit", func(waited time.Duration) error {
		if waited < predecessorLimit/2 {
			return vfs.ErrLocked
		}
		return nil
	}, nil, predecessorLimit/2)
	f("never given back", func(time.Duration) error { return vfs.ErrLocked }, vfs.ErrLocked, predecessorLimit)
	f("another error", func(time.Duration) error { return other }, other, 0)
}
