package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// Limits of a stop. Beyond each the stop goes on without.
const (
	// handOverLimit is for leading leaders away.
	handOverLimit = 30 * time.Second
	// lonelyLimit is how long a stopping broker waits for a quorum without leader.
	lonelyLimit = 2 * time.Second
	// failureLimit is for telling the controller that the data directory failed.
	failureLimit = time.Second
	// answerLimit is for requests that are being answered.
	answerLimit = 5 * time.Second
)

// Run runs the broker until the context ends, and then stops it in order; or until it cannot go on, which is the error.
func (s *Server) Run(ctx context.Context) error {
	s.log.Info("starting", "node", s.node, "cluster", s.meta.ClusterID, "directory", s.meta.DirectoryID.String())
	s.startQuorum()
	if err := s.partitions.Open(s.clock.Wall()); err != nil {
		s.shutDown(false)
		return fmt.Errorf("open logs: %w", err)
	}
	s.opened.Store(true)
	s.background.Go(func() { s.members.run(s.running) })
	s.background.Go(func() { s.follow(s.running) })
	told := s.tellSpace()
	s.members.tell(s.running, membership.Ready{})
	s.background.Go(func() { s.watchSpace(s.running, told) })
	err := s.awaitStart(ctx)
	if err == nil {
		s.serveClients()
		err = s.awaitEnd(ctx)
	}
	clean := err == nil
	s.shutDown(clean)
	return err
}

// awaitStart waits until the partitions have their roles.
func (s *Server) awaitStart(ctx context.Context) error {
	select {
	case <-s.placed:
		return nil
	case <-ctx.Done():
		return nil
	case r := <-s.members.refused:
		return rejected(r)
	case err := <-s.fatal:
		return err
	}
}

// awaitEnd waits for the end and leads leaders away when it is a wanted one.
func (s *Server) awaitEnd(ctx context.Context) error {
	failed := s.watchDirectory()
	select {
	case <-ctx.Done():
	case r := <-s.members.refused:
		return rejected(r)
	case err := <-s.fatal:
		return err
	case err := <-failed:
		s.tellDirectoryFailed()
		return err
	}
	s.log.Info("stopping: leading leaders away")
	limit := handOverLimit
	if !s.settings.broker().Quorum.ControlledStop {
		limit = 0
	}
	s.members.tell(s.running, membership.Shutdown{Limit: limit})
	lonely, hurried := s.awaitLonely(), s.hurried.Done()
	for {
		select {
		case l := <-s.members.left:
			s.log.Info("left", "clean", l.Clean)
			if !l.Clean {
				return nil
			}
			return s.drain(lonely, failed)
		case <-hurried:
			hurried = nil
			s.members.tell(s.running, membership.Shutdown{})
		case <-lonely:
			// A whole cluster that stops: nobody is left to lead leaders away to.
			lonely = nil
			s.members.tell(s.running, membership.Shutdown{})
		case err := <-failed:
			return err
		case err := <-s.fatal:
			return err
		}
	}
}

// awaitLonely tells when the quorum had no leader for lonelyLimit, or when so many voters are gone that it cannot have one.
func (s *Server) awaitLonely() <-chan struct{} {
	lonely := make(chan struct{})
	s.background.Go(func() {
		t := time.NewTicker(lonelyLimit / 10)
		defer t.Stop()
		led := s.clock.Elapsed()
		for s.clock.Elapsed().Sub(led) < lonelyLimit {
			select {
			case <-s.running.Done():
				return
			case <-t.C:
			}
			status := s.quorum.Status()
			if status.Leader != kafka.NoNode {
				led = s.clock.Elapsed()
			} else if gone := s.peers.countGone(status.Voters); gone > 0 && len(status.Voters)-gone < len(status.Voters)/2+1 {
				break
			}
		}
		close(lonely)
	})
	return lonely
}

func rejected(r membership.Rejected) error {
	return fmt.Errorf("register: the cluster refuses this broker: %s: %s", r.Code, r.Reason)
}

// watchDirectory tells when the data directory fails: the process ends then, so that others lead what it led.
func (s *Server) watchDirectory() <-chan error {
	failed := make(chan error, 1)
	s.background.Go(func() {
		t := time.NewTicker(partition.TickEvery)
		defer t.Stop()
		for {
			select {
			case <-s.running.Done():
				return
			case <-t.C:
				if err := s.partitions.Failure(); err != nil {
					failed <- fmt.Errorf("data directory failed: %w", err)
					return
				}
			}
		}
	})
	return failed
}

// tellDirectoryFailed has the controller fence this broker, rather than let clients wait until its death is noticed.
func (s *Server) tellDirectoryFailed() {
	ctx, cancel := context.WithTimeout(s.running, failureLimit)
	defer cancel()
	s.members.tell(ctx, membership.DirectoryFailed{Directory: s.meta.DirectoryID})
	s.images.Await(ctx, func(i *metadata.Image) bool {
		b := i.Broker(s.node)
		return b == nil || b.Incarnation != s.incarnation || b.Fenced
	})
}

// serve runs one accept loop.
func (s *Server) serve(server *conn.Server, l conn.Listener) {
	s.background.Go(func() {
		if err := server.Serve(l); !errors.Is(err, conn.ErrServerClosed) {
			s.fail(fmt.Errorf("listener %s: %w", l.Name, err))
		}
	})
}

// startQuorum runs the quorum's node and the listener between brokers.
func (s *Server) startQuorum() {
	var ctx context.Context
	ctx, s.leaveQuorum = context.WithCancel(s.running)
	s.quorumLeft = make(chan struct{})
	s.background.Go(func() {
		defer close(s.quorumLeft)
		if err := s.quorum.Run(ctx); err != nil {
			s.fail(fmt.Errorf("metadata quorum: %w", err))
		}
	})
	s.background.Go(func() { s.watchBrokers(s.running) })
	for _, l := range s.listeners {
		if l.Internal {
			s.serve(s.internalServer, l)
		}
	}
	for _, v := range s.settings.broker().Quorum.Voters {
		if v.ID != s.node {
			s.peers.greet(v.ID)
		}
	}
}

// serveClients opens the listeners for clients and starts what works for them.
func (s *Server) serveClients() {
	s.background.Go(func() { s.groups.Run(s.running) })
	s.background.Go(func() { s.reportLogEnds(s.running) })
	s.background.Go(func() { s.sampleLoads(s.running) })
	s.background.Go(func() {
		now := func() (kafka.Elapsed, kafka.Timestamp) { return s.clock.Elapsed(), s.clock.Wall() }
		s.partitions.Run(s.running, now, s.intervals(), s.reportLoop)
	})
	for _, l := range s.listeners {
		if !l.Internal {
			s.serve(s.clientServer, l)
		}
	}
}

// shutDown stops everything in the reverse order of the start. clean tells whether the controller let us go or nothing went wrong:
// only then the logs are marked as closed cleanly.
func (s *Server) shutDown(clean bool) {
	s.fetchers.stop()
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	s.groups.Close()
	s.clients.Drain()
	_ = s.clientServer.Shutdown(ctx)
	// While others can still be heard and spoken to: who leads the quorum hands over first.
	s.leaveQuorum()
	<-s.quorumLeft
	_ = s.internalServer.Shutdown(ctx)
	s.cancel()
	s.peers.close()
	s.endpoint.Close()
	s.background.Wait()
	if clean {
		if err := s.partitions.Close(s.lastEpoch(), s.clock.Elapsed()); err != nil {
			s.log.Error(err, "logs could not be closed cleanly; they are looked through at the next start")
		}
	}
	if err := s.directory.Close(); err != nil {
		s.log.Error(err, "data directory could not be closed")
	}
	s.closeListeners()
	s.log.Info("stopped")
}

// lastEpoch is the broker epoch that a clean stop is told to have ended: of a run that never registered, that of the clean stop before it,
// which is still the last word of this directory.
func (s *Server) lastEpoch() kafka.BrokerEpoch {
	if e := s.members.state.brokerEpoch(); e != kafka.NoBrokerEpoch {
		return e
	}
	return s.previousEpoch()
}
