package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Pauses before a broker that died is started again: none when it had run for long, growing when it dies at once.
const (
	longRun      = 10 * time.Second
	firstPause   = 500 * time.Millisecond
	longestPause = 10 * time.Second
)

// Run lays the directory out, runs the cluster until ctx ends and stops it. It prints to out and must be called from
// a locked thread that lives as long as the process (the main thread), see [start].
func Run(ctx context.Context, exe string, o Options, out io.Writer) error {
	l, err := lock(o.Dir)
	if err != nil {
		return err
	}
	defer l.Close()
	for id := range o.Brokers {
		pid, err := runningPid(o.Dir, id)
		if err != nil {
			return err
		}
		if pid != 0 {
			return fmt.Errorf("broker %d is already running in %s as process %d", id, o.Dir, pid)
		}
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := portsFree(o); err != nil {
		return err
	}
	if err := Write(o); err != nil {
		return err
	}
	s := &supervisor{exe: exe, dir: o.Dir, out: out, brokers: make([]broker, o.Brokers)}
	defer s.stopAll()
	for id := range o.Brokers {
		if err := s.start(id); err != nil {
			return err
		}
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	if o.Ready != nil && ctx.Err() == nil {
		c, err := readCluster(o.Dir)
		if err != nil {
			return err
		}
		o.Ready(ctx, c.bootstrap())
	}
	s.watch(ctx)
	return nil
}

func portsFree(o Options) error {
	for id := range o.Brokers {
		for _, port := range []int{o.Port + id, o.Port + 1000 + id} {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return fmt.Errorf("port %d of broker %d: %w", port, id, unwrapListen(err))
			}
			l.Close()
		}
	}
	return nil
}

// unwrapListen drops what repeats the port.
func unwrapListen(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// supervisor keeps the brokers running. One goroutine calls its methods.
type supervisor struct {
	exe, dir string
	out      io.Writer
	brokers  []broker
}

type broker struct {
	p       *process      // nil while not running
	pause   time.Duration // before the next start
	startAt time.Time     // when p is nil and the broker is not stopped by hand
	stopped bool          // reported as stopped by hand
}

func (s *supervisor) start(id int) error {
	p, err := start(s.exe, s.dir, id)
	if err != nil {
		return err
	}
	s.brokers[id].p, s.brokers[id].stopped = p, false
	return nil
}

// awaitReady prints the ready line; a broker that dies before is an error.
func (s *supervisor) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		line string
		err  error
	}
	ready := make(chan result, 1)
	go func() {
		line, err := AwaitAll(ctx, s.dir)
		ready <- result{line, err}
	}()
	tick := time.NewTicker(controlPause)
	defer tick.Stop()
	for {
		select {
		case r := <-ready:
			if r.err != nil && ctx.Err() != nil {
				return nil // told to stop before it was ready
			}
			if r.err == nil {
				fmt.Fprintln(s.out, r.line)
			}
			return r.err
		case <-tick.C:
			for id := range s.brokers {
				if s.gone(id) {
					how := s.brokers[id].p.how(s.dir)
					s.forget(id)
					return fmt.Errorf("broker %d: %s (log: %s)", id, how, logFile(s.dir, id))
				}
			}
		}
	}
}

// gone tells whether a started broker has ended.
func (s *supervisor) gone(id int) bool {
	p := s.brokers[id].p
	if p == nil {
		return false
	}
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (s *supervisor) forget(id int) {
	s.brokers[id].p = nil
	_ = os.Remove(pidFile(s.dir, id))
}

// watch restarts brokers until ctx ends.
func (s *supervisor) watch(ctx context.Context) {
	tick := time.NewTicker(controlPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for id := range s.brokers {
				s.look(id, now)
			}
		}
	}
}

func (s *supervisor) look(id int, now time.Time) {
	b := &s.brokers[id]
	stopped := isStopped(s.dir, id)
	if s.gone(id) {
		s.end(id, now, stopped)
	}
	switch {
	case b.p != nil || stopped:
	case b.stopped:
		fmt.Fprintf(s.out, "broker %d: started by hand\n", id)
		s.restart(id, now)
	case !now.Before(b.startAt):
		s.restart(id, now)
	}
}

// end reports a broker's end and decides when it starts again.
func (s *supervisor) end(id int, now time.Time, stopped bool) {
	b := &s.brokers[id]
	p := b.p
	s.forget(id)
	if stopped {
		b.stopped = true
		fmt.Fprintf(s.out, "broker %d: stopped by hand (%s)\n", id, p.how(s.dir))
		return
	}
	switch {
	case now.Sub(p.started) >= longRun:
		b.pause = 0
	case b.pause == 0:
		b.pause = firstPause
	default:
		b.pause = min(2*b.pause, longestPause)
	}
	b.startAt = now.Add(b.pause)
	fmt.Fprintf(s.out, "broker %d: %s; starting it again (log: %s)\n", id, p.how(s.dir), logFile(s.dir, id))
}

func (s *supervisor) restart(id int, now time.Time) {
	if err := s.start(id); err != nil {
		s.brokers[id].startAt = now.Add(longestPause)
		fmt.Fprintf(s.out, "broker %d: %v\n", id, err)
	}
}

// stopAll ends every broker by SIGTERM, and by SIGKILL when it takes too long.
func (s *supervisor) stopAll() {
	for id := range s.brokers {
		if p := s.brokers[id].p; p != nil {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	limit := time.After(StopLimit)
	for id := range s.brokers {
		p := s.brokers[id].p
		if p == nil {
			continue
		}
		select {
		case <-p.exited:
		case <-limit:
			limit = time.After(0)
			fmt.Fprintf(s.out, "broker %d: did not stop within %v, killed\n", id, StopLimit)
			_ = p.cmd.Process.Kill()
			<-p.exited
		}
		s.forget(id)
	}
}
