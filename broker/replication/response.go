package replication

import (
	"math"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handle takes the answer to the last fetch, or why there is none. The records in it are used where they are; when Handle
// returns nobody holds them.
func (f *Fetcher) Handle(resp *kmsg.FetchResponse, err error, now kafka.Elapsed, wall kafka.Timestamp) {
	if !f.inFlight {
		return
	}
	f.inFlight = false
	f.unpark()
	if err != nil || resp == nil {
		f.failed(now)
		return
	}
	switch code := kafka.ErrorCode(resp.ErrorCode); code {
	case kafka.None:
	case kafka.FetchSessionIDNotFound, kafka.InvalidFetchSessionEpoch, kafka.FetchSessionTopicIDError, kafka.InconsistentTopicID:
		// The leader restarted, or needed the place: ask again in full. A second time in a row is no such accident.
		again := f.epoch != 0
		f.closed()
		if !again {
			f.failed(now)
		}
		return
	default:
		f.failed(now)
		return
	}
	f.failures = 0
	f.advanceSession(resp.SessionID)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			r := &t.Partitions[j]
			p := f.follows[kafka.TopicIDPartition{TopicID: t.TopicID, Partition: r.Partition}]
			if p != nil && p.restUntil == 0 && p.asked != (replica.FetchPosition{}) {
				f.take(p, r, now, wall)
			}
		}
	}
}

// failed is a fetch that came to nothing.
func (f *Fetcher) failed(now kafka.Elapsed) {
	f.closed()
	f.restUntil = now.Add(backoff(f.failures, f.o))
	f.failures++
}

// advanceSession follows the session; the epoch after 2^31-1 is 1.
func (f *Fetcher) advanceSession(id int32) {
	switch {
	case id == 0:
		f.keepPositions()
	case f.epoch == 0 || id == f.sessionID:
		f.sessionID = id
		if f.epoch == math.MaxInt32 {
			f.epoch = 0
		}
		f.epoch++
	default: // another session than the one we asked in
		f.keepPositions()
	}
}

// keepPositions closes the session, but the answer at hand still counts for what was asked.
func (f *Fetcher) keepPositions() {
	f.sessionID, f.epoch = 0, 0
}

// take hands one partition's answer to its replica.
func (f *Fetcher) take(p *follow, r *kmsg.FetchResponseTopicPartition, now kafka.Elapsed, wall kafka.Timestamp) {
	code := kafka.ErrorCode(r.ErrorCode)
	switch {
	case code == kafka.None && r.DivergingEpoch.EndOffset >= 0:
		p.r.TakeDivergence(replica.Diverged{
			Asked: p.asked, Epoch: kafka.LeaderEpoch(r.DivergingEpoch.Epoch), End: kafka.Offset(r.DivergingEpoch.EndOffset),
			LeaderWatermark: kafka.Offset(r.HighWatermark),
		}, now)
	case code == kafka.None:
		if n := len(r.RecordBatches); n > 0 && p.r.Throttled() {
			f.o.Throttle.Take(n, now)
		}
		code = p.r.TakeAnswer(replica.Answer{
			Asked: p.asked.LeaderEpoch, Records: r.RecordBatches, LeaderStart: kafka.Offset(r.LogStartOffset),
			LeaderWatermark: kafka.Offset(r.HighWatermark), Now: now, Wall: wall,
		})
	case code == kafka.OffsetOutOfRange:
		if p.r.TakeOutOfRange(replica.OutOfRange{Asked: p.asked, LeaderStart: kafka.Offset(r.LogStartOffset)}, now) {
			code = kafka.None
		}
	}
	if code != kafka.None {
		// Elections are in progress, this broker's or the leader's image is late, or the disk is full: soon again.
		f.o.OnError(p.id, code)
		f.rest(p, now)
		return
	}
	p.failures, p.answered = 0, true
	f.touch(p)
}
