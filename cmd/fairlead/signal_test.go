package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestTheSecondSignalHurries: the one that ends the context does not.
func TestTheSecondSignalHurries(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), stopSignals...)
	defer stop()
	hurried := make(chan struct{})
	end := onSecondSignal(ctx, func() { close(hurried) })
	defer end()
	signalSelf := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	signalSelf()
	<-ctx.Done()
	// Who listens for the second begins only now: it is sent until it is heard.
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		select {
		case <-hurried:
			return
		default:
			signalSelf()
		}
	}
}

// TestNoSignalIsNoHurry: the watch ends with the process's work, whether or not it was told to stop.
func TestNoSignalIsNoHurry(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	onSecondSignal(ctx, func() { t.Error("hurried") })()
	stop()
	onSecondSignal(ctx, func() { t.Error("hurried") })()
}
