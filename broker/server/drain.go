package server

import "time"

// drainLook is how often a broker that drains looks whether there is somebody left to drain for.
const drainLook = 20 * time.Millisecond

// Hurry has a stop that is under way, or the next one, wait for nobody: leaderships that are still here move when the others notice that this
// broker is gone, and clients with old metadata find its port closed. The logs are closed cleanly all the same.
func (s *Server) Hurry() { s.hurry() }

// drain goes on answering clients for a while when the leaderships are with others, so that who comes with metadata of before learns of the new
// leader by an answer, and so that those who send clients here (the Services of Kubernetes) have noticed that this broker is not ready.
// Meanwhile it leads nothing, is in no ISR in which others are, refuses every produce and every consumer's fetch as not being the leader, and still
// follows: what it has then is what it comes back with. It sends no more heartbeats, so one that drains for longer than its session is fenced.
func (s *Server) drain(lonely <-chan struct{}, failed <-chan error) error {
	limit := s.settings.broker().Quorum.DrainTime
	if limit == 0 || !s.drainHelps() {
		return nil
	}
	s.log.Info("draining: clients are told of the new leaders", "limit", limit.String())
	s.clients.Drain()
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for s.drainHelps() {
		select {
		case <-look.C:
		case <-end.C:
			return nil
		case <-s.hurried.Done():
			return nil
		case <-lonely:
			return nil
		case err := <-failed:
			return err
		case err := <-s.fatal:
			return err
		}
	}
	return nil
}

// drainHelps tells whether there is a client that could be told of another broker. Connections of brokers do not count: they have a listener
// of their own.
func (s *Server) drainHelps() bool {
	if s.clientServer.Stats().Open == 0 {
		return false
	}
	for b := range s.images.Current().Brokers() {
		if b.ID != s.node && b.Eligible() {
			return true
		}
	}
	return false // the whole cluster stops
}
