package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals end a process in order; a second one has it hurry.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// onSecondSignal calls hurry when a signal to stop comes after the one that ended the context, until end is called.
func onSecondSignal(ctx context.Context, hurry func()) (end func()) {
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		second := make(chan os.Signal, 1)
		signal.Notify(second, stopSignals...)
		defer signal.Stop(second)
		select {
		case <-second:
			hurry()
		case <-over:
		}
	}()
	return func() {
		close(over)
		<-watched
	}
}
