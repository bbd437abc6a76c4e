package coordinator

import (
	"github.com/fairlead-io/fairlead/broker/group"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// event is one thing that happens to a shard. Events are worked off one at a time, in order.
type event struct {
	kind  eventKind
	req   kmsg.Request // requested
	from  group.Caller
	reply Reply
	batch *batch // appended
	done  AppendResult
}

type eventKind uint8

const (
	requested  eventKind = iota
	appended             // a batch has its outcome
	ticked               // a deadline has passed
	loaded               // the loader has applied everything
	dropped              // topics were deleted
	configured           // settings changed
	fenced               // this broker coordinates nothing for now
	resigned             // the end
)

// maxEventsPerTurn is how many events one caller works off for others before it hands the shard over.
const maxEventsPerTurn = 256

// post puts an event into the mailbox. If nobody works the mailbox off, the caller does so now; callbacks that post
// meanwhile, on this goroutine or another, are worked off by the same turn.
func (s *shard) post(e event) {
	s.mu.Lock()
	s.mailbox = append(s.mailbox, e)
	if s.busy {
		s.mu.Unlock()
		return
	}
	s.busy = true
	s.mu.Unlock()
	s.turn()
}

// turn works the mailbox off. All events that are there at once are decided before their records are appended, so that
// they share a batch.
func (s *shard) turn() {
	worked := 0
	for {
		s.mu.Lock()
		events := s.mailbox
		s.mailbox = nil
		if len(events) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		for i := range events {
			s.handle(&events[i])
		}
		s.flush()
		s.noteDeadline()
		if worked += len(events); worked >= maxEventsPerTurn && s.handOver() {
			return
		}
	}
}

// handOver gives the shard to a goroutine of run.go. False: there is none, or it is busy.
func (s *shard) handOver() bool {
	overflow := s.groups.overflow.Load()
	if overflow == nil {
		return false
	}
	select {
	case *overflow <- s:
		return true
	default:
		return false
	}
}

// request puts a request into the mailbox, or answers it when the shard cannot decide it.
func (s *shard) request(req kmsg.Request, from group.Caller, reply Reply) {
	code := s.refusal()
	if code == kafka.None && s.full() {
		code = kafka.CoordinatorNotAvailable
	}
	if code != kafka.None {
		reply(refuse(req, code))
		return
	}
	s.post(event{kind: requested, req: req, from: from, reply: reply})
}

func (s *shard) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mailbox) >= s.groups.conf.Load().MaxMailbox
}

// refuse makes the answer of a shard that is not active.
func refuse(req kmsg.Request, code kafka.ErrorCode) kmsg.Response {
	if _, ok := req.(*kmsg.HeartbeatRequest); ok && code == kafka.CoordinatorLoadInProgress {
		// As in Kafka: members of a group that is being loaded are told that all is well. Their sessions begin anew when
		// it is loaded, and clients do not expect 14 here.
		code = kafka.None
	}
	return group.Refuse(req, code)
}

// wakeAt is when the shard wants to be ticked or loaded.
func (s *shard) wakeAt() kafka.Elapsed { return kafka.Elapsed(s.deadline.Load()) }

// noteDeadline publishes, after each turn, when the shard wants to be ticked, and what people want to know of it. A shard that loads is woken by its load.
func (s *shard) noteDeadline() {
	if s.getStatus() != active {
		return
	}
	next := s.nextRetention
	if at, ok := s.machine.NextDeadline(); ok {
		next = min(next, at)
	}
	for _, w := range s.appends {
		if !w.timedOut {
			next = min(next, w.deadline)
			break
		}
	}
	s.deadline.Store(int64(next))
	s.groupCount.Store(int64(s.machine.Groups()))
	if next < s.lastDeadline {
		s.groups.wake()
	}
	s.lastDeadline = next
}
