package coordinator

import (
	"bytes"
	"fmt"

	"github.com/fairlead-io/fairlead/broker/group"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// load is the progress of loading one shard.
type load struct {
	claimed bool          // a loader is at it
	due     kafka.Elapsed // not before
	refusal kafka.ErrorCode

	started  kafka.Elapsed
	next     kafka.Offset // next offset to apply
	target   kafka.Offset // the log's end when the load began: all that was acknowledged is below
	records  int64
	bytes    int64
	failures int
	took     kafka.Elapsed // of the last load that ended
}

// beginLoad makes the shard loading, from nothing. Nothing is acknowledged that is not below the log's end by now: an
// earlier leader's acknowledgements were in every in-sync replica before this broker could be elected.
func (s *shard) beginLoad(due kafka.Elapsed, refusal kafka.ErrorCode) {
	now := s.groups.o.Clock.Elapsed()
	b := s.log.Bounds()
	s.machine = group.New(s.groups.conf.Load().Group)
	s.txns = map[kafka.ProducerID][]group.Record{}
	s.mu.Lock()
	s.status = loading
	s.load = load{due: due, refusal: refusal, started: now, next: b.Start, target: b.End}
	s.mu.Unlock()
	s.deadline.Store(int64(never))
	s.lastDeadline = never
	s.groups.wake()
}

// nothingToRead tells that a load needs no read.
func (s *shard) nothingToRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == loading && s.load.next >= s.load.target
}

// loadAt is when a loader should look at the shard; never if it is not loading or somebody does.
func (s *shard) loadAt() kafka.Elapsed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != loading || s.load.claimed || s.groups.fenced.Load() {
		return never
	}
	return s.load.due
}

// claimLoad makes the caller the loader for one step.
func (s *shard) claimLoad(now kafka.Elapsed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != loading || s.load.claimed || s.load.due > now || s.groups.fenced.Load() {
		return false
	}
	s.load.claimed = true
	return true
}

// loadStep does one step of a load that was claimed. Until it ends the machine is the loader's: requests are refused, and
// whatever else happens to the shard leaves the machine alone.
func (s *shard) loadStep(buf *[]byte) {
	s.mu.Lock()
	l := s.load
	s.mu.Unlock()

	var err error
	b := s.log.Bounds()
	l.next = max(l.next, b.Start) // retention or DeleteRecords took the front: compaction has left it nothing to say
	switch {
	case l.next >= l.target:
	case l.next >= b.HighWatermark:
		l.due = s.groups.o.Clock.Elapsed().Add(watermarkPoll)
	default:
		err = s.read(&l, buf, b.HighWatermark)
	}
	if err != nil {
		// Nothing was applied of the damaged batch, but later records may rest on it. Begin again after a pause: perhaps
		// another replica leads by then.
		s.groups.o.Log.Error(err, "loading a group shard", "partition", s.partition, "epoch", s.epoch)
		s.machine = group.New(s.groups.conf.Load().Group)
		clear(s.txns)
		l.next, l.records, l.bytes = b.Start, 0, 0
		l.failures++
		l.due = s.groups.o.Clock.Elapsed().Add(damagePause)
	}
	done := err == nil && l.next >= l.target
	l.claimed = done // a load that has ended is nobody's to go on with
	l.took = s.groups.o.Clock.Elapsed() - l.started
	if done {
		s.applied = l.next
	}
	s.mu.Lock()
	s.load = l
	s.mu.Unlock()
	if done {
		s.post(event{kind: loaded})
		return
	}
	s.groups.wake()
}

// read applies one buffer of committed batches.
func (s *shard) read(l *load, buf *[]byte, highWatermark kafka.Offset) error {
	if *buf == nil {
		*buf = make([]byte, s.groups.conf.Load().LoadBufferBytes)
	}
	data, err := s.log.Read(l.next, *buf)
	if err != nil {
		return fmt.Errorf("read %s-%d from offset %d: %w", OffsetsTopic, s.partition, l.next, err)
	}
	l.bytes += int64(len(data))
	if len(data) == 0 {
		l.next = max(l.next, highWatermark) // compaction left nothing there
	}
	for len(data) > 0 {
		var b record.Batch
		if b, data, err = record.Next(data); err == nil && !b.CheckCRC() {
			err = fmt.Errorf("checksum of the batch at offset %d is wrong", b.BaseOffset())
		}
		if err == nil {
			err = s.applyBatch(l, b)
		}
		if err != nil {
			return fmt.Errorf("load %s-%d at offset %d: %w", OffsetsTopic, s.partition, l.next, err)
		}
		l.next = b.NextOffset()
	}
	return nil
}

// maxBatchInflated bounds what a batch may become when it is decompressed.
const maxBatchInflated = 256 << 20

// applyBatch applies a batch. Records of a transaction wait for its marker.
func (s *shard) applyBatch(l *load, b record.Batch) error {
	if b.IsControl() {
		marker, ok, err := b.EndTxn()
		if err != nil || !ok {
			return err
		}
		held := s.txns[marker.ProducerID]
		delete(s.txns, marker.ProducerID)
		if !marker.Commit {
			return nil
		}
		for _, r := range held {
			if err := s.machine.Apply(r); err != nil {
				return err
			}
		}
		return nil
	}
	it := b.Records(maxBatchInflated)
	defer it.Close()
	for it.Next() {
		r := it.Record()
		if r.Offset < l.next {
			continue
		}
		gr := group.Record{Key: r.Key, Value: r.Value}
		if b.IsTransactional() {
			gr = group.Record{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
			s.txns[b.ProducerID()] = append(s.txns[b.ProducerID()], gr)
		} else if err := s.machine.Apply(gr); err != nil {
			return err
		}
		l.records++
	}
	return it.Err()
}
