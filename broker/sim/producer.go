package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
)

// producer is an idempotent client of one partition. It has one batch in flight, and sends it until it is acknowledged.
type producer struct {
	w         *World
	id        kafka.ProducerID
	tp        kafka.TopicPartition
	sequence  int32 // of the batch in flight, or of the next one
	batch     []byte
	sent      kafka.Elapsed // for the first time
	values    []string      // of the batch
	finishing bool          // no new batch
	lastBase  kafka.Offset
	epoch     kafka.LeaderEpoch // the newest that it saw
	manual    bool              // a script says when the next batch comes
	padding   int               // bytes of each record besides its value
}

const (
	produceTimeout = time.Second
	produceKey     = int16(0)
	fetchKey       = int16(1)
)

func (w *World) addProducer(tp kafka.TopicPartition) {
	p := &producer{w: w, id: kafka.ProducerID(1000 + len(w.producers)), tp: tp, lastBase: -1}
	w.producers = append(w.producers, p)
	w.after(w.between(0, time.Second), p.next)
}

// next begins a batch.
func (p *producer) next() {
	if !p.finishing && !p.manual {
		p.begin(1 + p.w.rnd.IntN(3))
	}
}

// begin sends a batch of n records.
func (p *producer) begin(n int) {
	b := record.NewBuilder(record.BuilderOptions{Idempotent: true, ProducerID: p.id, BaseSequence: p.sequence})
	p.values = nil
	for i := range n {
		v := fmt.Sprintf("%d/%d", p.id, int(p.sequence)+i)
		p.values = append(p.values, v)
		var key []byte
		if p.padding > 0 {
			key = make([]byte, p.padding)
		}
		b.Add(epochStart, key, []byte(v))
	}
	batch, err := b.Build()
	if err != nil {
		p.w.fail("build a batch: %v", err)
		return
	}
	p.batch, p.sent = slices.Clone(batch), p.w.now
	p.send()
}

// send sends the batch to whom somebody takes for the leader.
func (p *producer) send() {
	w := p.w
	leader := kafka.NoNode
	if q := w.somebody(); q != nil {
		if t := q.image.TopicByName(p.tp.Topic); t != nil {
			// As clients do (KIP-320): metadata of an older leader epoch than was seen is not believed. A deposed leader does
			// not know what its successor took in, and would call the next batch out of order.
			if s := stateOf(t, p.tp.Partition); s != nil && s.LeaderEpoch >= p.epoch {
				leader, p.epoch = s.Leader, s.LeaderEpoch
			}
		}
	}
	if leader == kafka.NoNode {
		w.after(w.between(10*time.Millisecond, 60*time.Millisecond), p.send)
		return
	}
	records, count := slices.Clone(p.batch), len(p.values)
	sent := p.sent // for the first time: it was at those that died since then, perhaps
	w.call(nil, leader, produceKey, func(q *process, answer func(any)) {
		part, code := q.parts.Get(p.tp)
		if part == nil {
			answer(partition.ProduceResult{Code: code})
			return
		}
		before := part.Describe()
		part.Produce(partition.ProduceRequest{
			Records: records, Version: 11, Acks: partition.AcksAll, LeaderEpoch: kafka.NoLeaderEpoch, Timeout: produceTimeout,
			Wall: q.h.wall(), Now: w.now,
		}, func(r partition.ProduceResult) {
			if do := w.inAnswer; do != nil {
				w.inAnswer = nil
				do()
			}
			if r.Code == kafka.None {
				w.check.copied(w, p.tp, sent, r.BaseOffset+kafka.Offset(count))
			}
			answer(r)
		})
		w.check.admitted(w, q, before, part.Describe())
		q.flush()
	}, p.answered)
}

func stateOf(t *metadata.Topic, n int32) *metadata.Partition {
	for i, s := range t.Partitions() {
		if i == n {
			return s
		}
	}
	return nil
}

// answered takes an answer, or its absence.
func (p *producer) answered(resp any, err error) {
	w := p.w
	again := func() { w.after(w.between(5*time.Millisecond, 40*time.Millisecond), p.send) }
	if err != nil {
		again()
		return
	}
	r := resp.(partition.ProduceResult)
	w.logf("producer %d of %v: %d to %d: %s at %d", p.id, p.tp, p.sequence, int(p.sequence)+len(p.values), r.Code, r.BaseOffset)
	switch r.Code {
	case kafka.None:
		w.check.acked(w, p, r.BaseOffset)
		p.sequence += int32(len(p.values))
		p.batch = nil
		w.after(w.between(0, 30*time.Millisecond), p.next)
	case kafka.NotLeaderOrFollower, kafka.UnknownTopicOrPartition, kafka.LeaderNotAvailable, kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend,
		kafka.RequestTimedOut, kafka.KafkaStorageError, kafka.FencedLeaderEpoch, kafka.UnknownLeaderEpoch:
		again()
	default:
		w.breach("answers", "producer %d of %v at sequence %d gets %s %s", p.id, p.tp, p.sequence, r.Code, r.Message)
	}
}
