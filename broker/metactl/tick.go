package metactl

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// Bounds of one tick. A walk that reaches its bound goes on in the next tick where it stopped.
const (
	maxWalkPerTick  = 2000 // partitions looked at, of each kind
	maxMovesPerTick = 64   // leaderships moved back
)

// moveInterval is the time between two batches of leaderships that are moved back: with maxMovesPerTick some 256 a second,
// which clients and page caches take without notice.
const moveInterval = 250 * time.Millisecond

// DefaultSettleTime is that of [Options.SettleTime]. It is longer than the age up to which clients take their metadata for current, 5 s by
// default: what they learnt of a fault still holds when they act on it.
const DefaultSettleTime = 10 * time.Second

func (t *turn) tick() {
	t.c.soft.excusePause(t.now, t.c.options.SessionTimeout)
	if t.c.rules.FenceSilent {
		t.fenceSilent()
	}
	t.recoverLeaderless()
	t.finishMoves()
	if !t.c.options.RebalanceDisabled {
		t.moveLeadersBack()
	}
}

// excusePause forgives brokers a pause of this process, during which it could not hear them: a gap between two ticks of more
// than a third of a session is taken off everybody's silence. So Tick must be called more often than that.
func (s *soft) excusePause(now kafka.Elapsed, session time.Duration) {
	gap := now.Sub(s.ticked)
	s.ticked = now
	if gap <= session/3 {
		return
	}
	for n, k := range s.contacts { // in any order: each is moved alike
		k.last = min(now, k.last.Add(gap))
		s.contacts[n] = k
	}
}

// fenceSilent fences the brokers that were not heard of for a session.
func (t *turn) fenceSilent() {
	var silent []*metadata.Broker
	for b := range t.image.Brokers() {
		if b.Fenced {
			continue
		}
		k, ok := t.c.soft.contacts[b.ID]
		if !ok || k.epoch != b.Epoch {
			// A registration of before this leadership that it did not hear of: count from now.
			t.c.soft.contacts[b.ID] = contact{epoch: b.Epoch, last: t.now, unfenced: t.now}
			continue
		}
		if t.now.Sub(k.last) >= t.c.options.SessionTimeout {
			silent = append(silent, b)
		}
	}
	t.fence(silent...)
}

// recoverLeaderless looks after partitions without a leader: those that wait for a bound to pass or for the user to allow an
// unclean election.
func (t *turn) recoverLeaderless() {
	s := &t.c.soft
	var batch []metadata.Record
	s.cursor.leaderless = s.leaderless.walk(s.cursor.leaderless, maxWalkPerTick, func(tp kafka.TopicIDPartition) bool {
		ref, ok := t.find(tp)
		if !ok || ref.Leader != kafka.NoNode {
			return true
		}
		x := t.change(ref, nil)
		x.settle()
		if x.after.Leader == kafka.NoNode {
			x.recover()
		}
		if c := x.done(); c != nil {
			batch = append(batch, c)
		}
		return true
	})
	t.add(batch...)
}

// moveLeadersBack gives leaderships back to preferred replicas that are in sync, in batches.
func (t *turn) moveLeadersBack() {
	s, interval := &t.c.soft, t.c.options.RebalanceInterval
	if s.moved != 0 && t.now.Sub(s.moved) < moveInterval {
		return
	}
	if interval > 0 && t.now.Sub(s.checked) < interval {
		return
	}
	budget := maxMovesPerTick
	var batch []metadata.Record
	for b := range t.image.Brokers() {
		set := s.misled[b.ID]
		if set == nil || set.len() == 0 || !b.TakesWrites() || t.now.Sub(s.contacts[b.ID].unfenced) < t.c.options.SettleTime {
			continue
		}
		s.cursor.misled[b.ID] = set.walk(s.cursor.misled[b.ID], maxWalkPerTick, func(tp kafka.TopicIDPartition) bool {
			ref, ok := t.find(tp)
			if !ok || ref.Leader == kafka.NoNode || ref.Leader == b.ID || ref.Replicas[0] != b.ID || !ref.InISR(b.ID) {
				return true
			}
			x := t.change(ref, nil)
			x.lead(b.ID)
			if c := x.done(); c != nil {
				batch = append(batch, c)
				budget--
			}
			return budget > 0
		})
		if budget == 0 {
			break
		}
	}
	if budget == maxMovesPerTick {
		s.checked = t.now // nothing is left to move; a running check goes on in batches until then
		return
	}
	s.moved = t.now
	t.add(batch...)
}

// find is a partition in the image of the turn.
func (t *turn) find(tp kafka.TopicIDPartition) (partitionRef, bool) {
	topic := t.image.TopicByID(tp.TopicID)
	if topic == nil || topic.Partition(tp.Partition) == nil {
		return partitionRef{}, false
	}
	return refOf(topic, tp.Partition), true
}
