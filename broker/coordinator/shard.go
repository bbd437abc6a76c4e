package coordinator

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/broker/group"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shard is one partition of __consumer_offsets in one leader epoch. A shard that lost its partition is thrown away; the
// next epoch has another one, so a late callback finds a shard that is gone and does nothing.
type shard struct {
	groups    *Groups
	partition int32
	epoch     kafka.LeaderEpoch
	log       Log

	mu      sync.Mutex
	mailbox []event
	busy    bool // somebody works the mailbox off
	status  status
	load    load
	// The mutex guards the fields between it and this comment. It is not held while anything is called.

	deadline   atomic.Int64 // kafka.Elapsed: when the shard wants to be woken
	topicsGone atomic.Bool  // a dropped event is in the mailbox
	groupCount atomic.Int64 // as of the last turn

	// The rest belongs to who works the mailbox off; while loading, to the loader.
	machine       *group.Machine
	waiting       map[group.Ticket]asker
	lastTicket    group.Ticket
	batches       []*batch                            // without an outcome, in log order
	appends       []*wait                             // without an outcome, in order
	txns          map[kafka.ProducerID][]group.Record // transactional offsets whose marker has not come, while loading
	applied       kafka.Offset                        // next offset to be applied
	nextRetention kafka.Elapsed
	lastDeadline  kafka.Elapsed
}

type status uint8

const (
	loading status = iota
	active
	gone
)

func (s status) String() string { return [...]string{"loading", "active", "gone"}[s] }

func newShard(g *Groups, partition int32, epoch kafka.LeaderEpoch, log Log) *shard {
	s := &shard{groups: g, partition: partition, epoch: epoch, log: log, lastDeadline: never}
	s.beginLoad(g.o.Clock.Elapsed(), kafka.CoordinatorLoadInProgress)
	return s
}

func (s *shard) getStatus() status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// refusal is the answer of a shard that is not active.
func (s *shard) refusal() kafka.ErrorCode {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.status {
	case loading:
		return s.load.refusal
	case gone:
		return kafka.NotCoordinator
	}
	return kafka.None
}

func (s *shard) setStatus(to status) {
	s.mu.Lock()
	s.status = to
	s.mu.Unlock()
}

const (
	maxRecordsPerPass  = 10_000                 // of retention, so that it does not hold up requests
	pauseBetweenPasses = 100 * time.Millisecond // of retention that has more to do
	reloadPause        = 100 * time.Millisecond // after an append whose outcome is unknown
	watermarkPoll      = 10 * time.Millisecond  // while a load waits for the high watermark
	damagePause        = 5 * time.Second        // after a read that failed
)

// handle works off one event.
func (s *shard) handle(e *event) {
	st := s.getStatus()
	if e.kind == requested && st != active {
		e.reply(refuse(e.req, s.refusal()))
		return
	}
	if st == gone {
		return
	}
	if e.kind == resigned {
		s.setStatus(gone)
		s.deadline.Store(int64(never))
		if st == active { // while loading the machine is the loader's, and nobody waits
			s.forget(kafka.NotCoordinator)
		}
		return
	}
	if st == loading && e.kind != loaded {
		return // an old batch's outcome, a tick that came late: loading finds out by itself
	}
	now := s.groups.now()
	switch e.kind {
	case requested:
		s.lastTicket++
		s.waiting[s.lastTicket] = asker{e.req, e.reply}
		s.machine.Handle(now, s.lastTicket, e.req, e.from)
	case appended:
		s.appended(now, e.batch, e.done)
	case ticked:
		s.tick(now)
	case loaded:
		if s.groups.fenced.Load() { // since the load began: no heartbeat would reach the shard, and sessions would end
			s.beginLoad(now.Elapsed, kafka.CoordinatorLoadInProgress)
			return
		}
		s.activate(now)
	case dropped:
		s.topicsGone.Store(false)
		s.dropOffsets()
	case fenced:
		s.forget(kafka.NotCoordinator)
		s.beginLoad(now.Elapsed, kafka.CoordinatorLoadInProgress)
	case configured:
		s.machine.Configure(s.groups.conf.Load().Group)
	}
}

// tick fires what is due: the machine's deadlines, answers that waited too long for the log, retention.
func (s *shard) tick(now group.Time) {
	for _, w := range s.appends {
		if w.deadline > now.Elapsed {
			break
		}
		if !w.timedOut {
			w.timedOut = true
			s.machine.TimedOut(now, w.id)
		}
	}
	s.machine.Tick(now)
	if now.Elapsed >= s.nextRetention {
		// What was deleted while no shard was there to hear of it is found here, if not at load.
		more := s.dropOffsets()
		more = s.machine.Expire(now, maxRecordsPerPass) || more
		s.nextRetention = now.Elapsed.Add(s.groups.conf.Load().RetentionCheckInterval)
		if more {
			s.nextRetention = now.Elapsed.Add(pauseBetweenPasses)
		}
	}
}

// activate begins to serve what the loader has applied.
func (s *shard) activate(now group.Time) {
	s.waiting = map[group.Ticket]asker{}
	s.nextRetention = now.Elapsed.Add(s.groups.conf.Load().RetentionCheckInterval)
	s.machine.Configure(s.groups.conf.Load().Group) // it may have changed during the load
	s.machine.Activate(now)
	s.setStatus(active)
	if s.dropOffsets() {
		s.nextRetention = now.Elapsed.Add(pauseBetweenPasses)
	}
}

// dropOffsets deletes offsets of topics that are gone. It tells whether there are more than one pass takes.
func (s *shard) dropOffsets() (more bool) {
	topics := s.groups.o.Topics
	return s.machine.DropOffsets(func(name string, id kafka.TopicID) bool {
		now, ok := topics.TopicID(name)
		return !ok || !id.IsZero() && id != now
	}, maxRecordsPerPass)
}

// dropTopics asks for dropOffsets, once for any number of deletions that come together.
func (s *shard) dropTopics() {
	if s.getStatus() == active && s.topicsGone.CompareAndSwap(false, true) {
		s.post(event{kind: dropped})
	}
}

// forget drops all state and answers whoever waits with the code.
func (s *shard) forget(code kafka.ErrorCode) {
	waiting := s.waiting
	s.machine, s.waiting, s.batches, s.appends = nil, nil, nil, nil
	for _, t := range slices.Sorted(maps.Keys(waiting)) {
		waiting[t].reply(group.Refuse(waiting[t].req, code))
	}
}

// reload begins again from the log, which alone knows what became of an append. code is what the log answered.
func (s *shard) reload(code kafka.ErrorCode) {
	answer := kafka.CoordinatorNotAvailable
	switch code {
	case kafka.NotLeaderOrFollower, kafka.FencedLeaderEpoch, kafka.UnknownLeaderEpoch, kafka.UnknownTopicOrPartition:
		answer = kafka.NotCoordinator
	}
	s.groups.o.Log.Info("loading a group shard again: the outcome of an append is unknown",
		"partition", s.partition, "epoch", s.epoch, "code", code.String())
	s.forget(answer)
	s.beginLoad(s.groups.o.Clock.Elapsed().Add(reloadPause), answer)
}

// asker is who waits for the answer to a request.
type asker struct {
	req   kmsg.Request
	reply Reply
}
