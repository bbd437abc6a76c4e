package coordinator

import (
	"github.com/fairlead-io/fairlead/broker/group"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// batch is one batch on its way through the log.
type batch struct {
	builder *record.Builder // its memory is the batch's until the outcome is known
	waits   []*wait         // appends with records in it, in order
	known   bool
	result  AppendResult
}

// wait is one append of the machine, which may be spread over several batches.
type wait struct {
	id       group.AppendID
	batches  int // that hold its records
	left     int // of them, without an outcome
	deadline kafka.Elapsed
	timedOut bool // who waits was answered; the append goes on
}

// flush does what the machine wants done: answers first, then appends.
func (s *shard) flush() {
	if s.getStatus() != active || !s.machine.HasReady() {
		return
	}
	ready := s.machine.Ready()
	for _, a := range ready.Answers {
		if w, ok := s.waiting[a.Ticket]; ok {
			delete(s.waiting, a.Ticket)
			w.reply(a.Response)
		}
	}
	for _, b := range s.pack(ready.Appends) {
		data, err := b.builder.Build()
		if err != nil {
			// Records of one append are below the protocol's limits, so this is a bug or a group without bounds.
			s.groups.o.Log.Error(err, "building a batch of group records", "partition", s.partition)
			s.post(event{kind: appended, batch: b, done: AppendResult{Code: kafka.RecordListTooLarge}})
			continue
		}
		s.log.Append(s.epoch, data, func(r AppendResult) {
			s.post(event{kind: appended, batch: b, done: r})
		})
	}
}

// recordOverhead bounds what a record costs beside its key and value.
const recordOverhead = 64

// pack puts the records of appends into as few batches as the limit allows, in order.
func (s *shard) pack(appends []group.Append) []*batch {
	if len(appends) == 0 {
		return nil
	}
	c := s.groups.conf.Load()
	now := s.groups.now()
	var packed []*batch
	var b *batch
	for _, a := range appends {
		w := &wait{id: a.ID, deadline: now.Elapsed.Add(c.CommitTimeout)}
		s.appends = append(s.appends, w)
		for _, r := range a.Records {
			if b == nil || b.builder.Count() > 0 && b.builder.Size()+len(r.Key)+len(r.Value)+recordOverhead > c.MaxBatchBytes {
				b = &batch{builder: record.NewBuilder(record.BuilderOptions{Codec: c.Codec})}
				packed = append(packed, b)
			}
			if n := len(b.waits); n == 0 || b.waits[n-1] != w {
				b.waits = append(b.waits, w)
				w.batches++
			}
			b.builder.Add(now.Wall, r.Key, r.Value)
		}
		w.left = w.batches
	}
	s.batches = append(s.batches, packed...)
	return packed
}

// appended takes the outcome of a batch and tells the machine of the appends that are decided by it, in log order.
func (s *shard) appended(now group.Time, b *batch, result AppendResult) {
	b.known, b.result = true, result
	for len(s.batches) > 0 && s.batches[0].known {
		b := s.batches[0]
		s.batches = s.batches[1:]
		if !s.decided(now, b) {
			s.reload(b.result.Code)
			return
		}
	}
}

// decided tells the machine what became of a batch. False: it is not known which of the records are in the log.
func (s *shard) decided(now group.Time, b *batch) bool {
	code := b.result.Code
	if code != kafka.None && !refused(code) {
		return false
	}
	if code == kafka.None {
		if b.result.BaseOffset != s.applied {
			return false // somebody else has written into the partition: the machine does not know what
		}
		s.applied += kafka.Offset(b.builder.Count())
	}
	for _, w := range b.waits {
		if code != kafka.None && w.batches > 1 {
			return false // other batches of it may be in the log
		}
		if w.left--; w.left > 0 {
			continue
		}
		s.appends = s.appends[1:]
		if code == kafka.None {
			s.machine.Committed(now, w.id)
		} else {
			s.machine.Failed(now, w.id, code)
		}
	}
	return true
}

// refused tells that the code says that nothing was written and nothing will be.
func refused(code kafka.ErrorCode) bool {
	switch code {
	case kafka.NotEnoughReplicas, kafka.MessageTooLarge, kafka.RecordListTooLarge, kafka.InvalidRecord, kafka.CorruptMessage,
		kafka.KafkaStorageError:
		return true
	}
	return false
}
