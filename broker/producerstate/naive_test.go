package producerstate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
	"github.com/fairlead-io/fairlead/broker/record"
)

// entry is a batch in the naive model's log.
type entry struct {
	b        record.Batch
	appended kafka.Timestamp
}

// naive answers every question by reading the whole log again. A producer counts from the first batch after the one
// that it was forgotten at.
type naive struct {
	log       []entry
	forgotten map[kafka.ProducerID]int // batches of the producer before this index do not count
	hw        kafka.Offset
}

func (n *naive) of(id kafka.ProducerID) []entry {
	var out []entry
	for i, e := range n.log {
		if e.b.ProducerID() == id && i >= n.forgotten[id] {
			out = append(out, e)
		}
	}
	return out
}

func (n *naive) end() kafka.Offset {
	if len(n.log) == 0 {
		return 0
	}
	return n.log[len(n.log)-1].b.NextOffset()
}

// openSince is the offset of the first record of the producer's open transaction, or -1.
func (n *naive) openSince(id kafka.ProducerID) kafka.Offset {
	first := kafka.NoOffset
	for _, e := range n.of(id) {
		switch {
		case e.b.IsControl():
			first = kafka.NoOffset
		case e.b.IsTransactional() && first < 0:
			first = e.b.BaseOffset()
		}
	}
	return first
}

func (n *naive) check(b record.Batch, origin producerstate.Origin) string {
	es := n.of(b.ProducerID())
	if len(es) == 0 {
		return "append"
	}
	epoch := es[len(es)-1].b.ProducerEpoch()
	var run []record.Batch // data of the present epoch
	coordinator := int32(-1)
	for _, e := range es {
		if m, ok, _ := e.b.EndTxn(); ok {
			coordinator = m.CoordinatorEpoch
			if e.b.ProducerEpoch() != epoch {
				run = nil
			}
		} else {
			run = append(run, e.b)
		}
	}
	// Only an unbroken run of the present epoch counts.
	for i := len(run) - 1; i >= 0; i-- {
		if run[i].ProducerEpoch() != epoch {
			run = run[i+1:]
			break
		}
	}
	run = n.sinceEpochBegan(es, run, epoch)
	if m, ok, _ := b.EndTxn(); ok {
		switch {
		case b.ProducerEpoch() < epoch:
			return kafka.InvalidProducerEpoch.String()
		case m.CoordinatorEpoch < coordinator:
			return kafka.TransactionCoordinatorFenced.String()
		}
		return "append"
	}
	if origin == producerstate.Client && b.ProducerEpoch() == epoch {
		for _, r := range run[max(0, len(run)-5):] {
			if r.BaseSequence() == b.BaseSequence() && r.LastSequence() == b.LastSequence() {
				return fmt.Sprint("duplicate of ", r.BaseOffset())
			}
		}
	}
	if b.ProducerEpoch() < epoch {
		return kafka.InvalidProducerEpoch.String()
	}
	if origin == producerstate.Client {
		want := int64(0)
		if b.ProducerEpoch() == epoch && len(run) > 0 {
			want = (int64(run[len(run)-1].BaseSequence()) + int64(run[len(run)-1].Count())) % (math.MaxInt32 + 1)
		}
		if int64(b.BaseSequence()) != want {
			return kafka.OutOfOrderSequenceNumber.String()
		}
	}
	if n.openSince(b.ProducerID()) >= 0 && !b.IsTransactional() {
		return kafka.InvalidTxnState.String()
	}
	return "append"
}

// sinceEpochBegan drops data that lies before a batch or marker of another epoch.
func (n *naive) sinceEpochBegan(es []entry, run []record.Batch, epoch kafka.ProducerEpoch) []record.Batch {
	begin := kafka.Offset(0)
	for _, e := range es {
		if e.b.ProducerEpoch() != epoch {
			begin = e.b.NextOffset()
		}
	}
	return slices.DeleteFunc(run, func(b record.Batch) bool { return b.BaseOffset() < begin })
}

func (n *naive) lastStable() kafka.Offset {
	stable := n.hw
	open := map[kafka.ProducerID]kafka.Offset{}
	for i, e := range n.log {
		id := e.b.ProducerID()
		if id < 0 || i < n.forgotten[id] {
			continue
		}
		first, isOpen := open[id]
		switch {
		case e.b.IsControl():
			if isOpen && e.b.BaseOffset() >= n.hw {
				stable = min(stable, first)
			}
			delete(open, id)
		case e.b.IsTransactional() && !isOpen:
			open[id] = e.b.BaseOffset()
		}
	}
	for _, first := range open {
		stable = min(stable, first)
	}
	return stable
}

func (n *naive) expire(now kafka.Timestamp, retention kafka.Timestamp, ids kafka.ProducerID) {
	for id := range ids {
		if es := n.of(id); len(es) > 0 && n.openSince(id) < 0 && now-es[len(es)-1].appended >= retention {
			n.forgotten[id] = len(n.log)
		}
	}
}

func TestStateAgreesWithReadingTheLogAgain(t *testing.T) {
	const producers = 4
	answers := map[string]int{}
	for range 150 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		n := &naive{forgotten: map[kafka.ProducerID]int{}}
		s := producerstate.New(0, producerstate.Options{})
		now := kafka.Timestamp(1000)
		last := map[kafka.ProducerID]int32{}
		var snapshot []byte
		snapshotAt, snapshotLen, snapshotTime := kafka.Offset(0), 0, now
		for step := range 120 {
			now += kafka.Timestamp(rnd.IntN(5))
			id := kafka.ProducerID(rnd.IntN(producers))
			p, known := s.Producer(id)
			epoch := max(p.Epoch, 0)
			if rnd.IntN(10) == 0 {
				epoch += kafka.ProducerEpoch(rnd.IntN(3)) - 1
			}
			var b record.Batch
			origin := producerstate.Client
			switch rnd.IntN(8) {
			case 0:
				b = plain(1 + rnd.IntN(3))
			case 1:
				b, origin = marker(id, epoch, rnd.IntN(2) == 0, int32(3+step/30-rnd.IntN(2))), producerstate.Coordinator
			default:
				seq := int32(math.MaxInt32 - 10) // so that sequences wrap
				if known {
					seq = record.AddSequence(last[id], int32(1))
				}
				if rnd.IntN(3) == 0 { // again, or a gap
					seq = int32((int64(seq) + int64(rnd.IntN(12)) - 8 + math.MaxInt32 + 1) % (math.MaxInt32 + 1))
				}
				if epoch != p.Epoch && rnd.IntN(4) > 0 {
					seq = 0
				}
				b = batch(id, epoch, seq, 1+rnd.IntN(2), n.openSince(id) >= 0 && rnd.IntN(6) > 0 || rnd.IntN(2) == 0)
			}
			got := "append"
			dup, code := s.Check(b, origin)
			if dup != nil {
				got = fmt.Sprint("duplicate of ", dup.BaseOffset)
			} else if code != kafka.None {
				got = code.String()
			}
			want := "append"
			if b.HasProducer() {
				want = n.check(b, origin)
			}
			if got != want {
				t.Fatalf("seed %d, step %d: %s, want %s, for producer %d epoch %d sequence %d; state %+v", seed, step, got, want, id, b.ProducerEpoch(), b.BaseSequence(), p)
			}
			answers[strings.TrimRight(got, "0123456789")]++
			if got == "append" {
				b.SetBaseOffset(n.end())
				n.log = append(n.log, entry{b, now})
				s.Update(b, now)
				if !b.IsControl() && b.HasProducer() {
					last[id] = b.LastSequence()
				}
			}
			n.hw = max(n.hw, n.end()-kafka.Offset(rnd.IntN(6)))
			if got, want := s.LastStable(n.hw), n.lastStable(); got != want {
				t.Fatalf("seed %d, step %d: last stable offset %d, want %d with high watermark %d", seed, step, got, want, n.hw)
			}
			switch rnd.IntN(20) {
			case 0:
				s.Expire(now, 40*time.Millisecond)
				n.expire(now, 40, producers)
			case 1:
				snapshot, snapshotAt, snapshotLen, snapshotTime = s.AppendSnapshot(nil), s.End(), len(n.log), now
			case 2: // restart: load the last snapshot and go through the rest of the log with its own times
				if snapshot == nil || forgottenSince(n, snapshotLen) {
					break
				}
				if err := s.LoadSnapshot(snapshot, snapshotAt, snapshotTime); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for _, e := range n.log[snapshotLen:] {
					s.Update(e.b, e.appended)
				}
			}
		}
	}
	for _, a := range []string{"append", "duplicate of ", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "TRANSACTION_COORDINATOR_FENCED"} {
		if answers[a] < 20 {
			t.Errorf("%q was the answer only %d times: the test does not reach it (%v)", a, answers[a], answers)
		}
	}
}

// forgottenSince tells whether a producer was forgotten after the snapshot, which a restart brings back.
func forgottenSince(n *naive, at int) bool {
	for _, i := range n.forgotten {
		if i >= at {
			return true
		}
	}
	return false
}

func BenchmarkCheckAndUpdate(b *testing.B) {
	s := producerstate.New(0, producerstate.Options{})
	batches := make([]record.Batch, 100)
	for id := range batches {
		batches[id] = batch(kafka.ProducerID(id), 0, 0, 1, false)
		s.Update(batches[id], 0)
	}
	i, seq := 0, make([]int32, len(batches))
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 1) % len(batches)
		seq[i]++
		x := batches[i]
		x[53], x[54], x[55], x[56] = byte(seq[i]>>24), byte(seq[i]>>16), byte(seq[i]>>8), byte(seq[i])
		x.SetBaseOffset(s.End())
		if _, code := s.Check(x, producerstate.Client); code != kafka.None {
			b.Fatal(code)
		}
		s.Update(x, 5)
		s.LastStable(s.End())
	}
}
