package sim

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/replication"
)

// rolesChanged brings new roles to the fetchers.
func (p *process) rolesChanged(changes []partition.Change) {
	for _, c := range changes {
		leader := kafka.NoNode
		if c.Role == replica.Follower && !c.Gone {
			leader = c.Leader.ID
		}
		p.fetchers.Follow(c.Partition, leader)
	}
}

// fetchLoop is what drives one fetcher.
type fetchLoop struct {
	p         *process
	leader    kafka.NodeID
	f         *replication.Fetcher
	scheduled bool
	inFlight  bool
}

func (p *process) beginFetching(leader kafka.NodeID, f *replication.Fetcher) func() {
	l := &fetchLoop{p: p, leader: leader, f: f}
	return func() { l.soon(0) }
}

func (l *fetchLoop) soon(d time.Duration) {
	if l.scheduled || l.inFlight {
		return
	}
	l.scheduled = true
	l.p.h.w.after(d, func() { l.p.do(l.step) })
}

var errNoAnswer = errors.New("fetch not answered")

// step sends the next fetch.
func (l *fetchLoop) step() {
	l.scheduled = false
	w, p := l.p.h.w, l.p
	if l.inFlight {
		return
	}
	req, ok := l.f.Next(w.now, p.epoch)
	if !ok {
		if at, ok := l.f.WakeAt(); ok {
			l.soon(max(at.Sub(w.now), time.Millisecond))
		}
		return
	}
	l.inFlight = true
	sent := recode(w, req).(*kmsg.FetchRequest)
	w.call(p, l.leader, fetchKey, func(q *process, answer func(any)) { q.serveFetch(sent, answer) }, func(resp any, err error) {
		l.inFlight = false
		fetched, _ := resp.(*kmsg.FetchResponse)
		if err == nil && fetched == nil {
			err = errNoAnswer
		}
		l.f.Handle(fetched, err, w.now, p.h.wall())
		w.check.fetched(w, p)
		p.flush()
		l.soon(0)
	})
}

// fetchWait is a fetch that waits at a leader for something new.
type fetchWait struct {
	p       *process
	req     *kmsg.FetchRequest
	answer  func(any)
	watches []*partition.Watch
	woken   bool
	over    bool
}

// PartitionReady comes with the partition's mutex held: only a mark and an event.
func (f *fetchWait) PartitionReady(*partition.Watch) {
	if !f.woken && !f.over {
		f.woken = true
		f.p.h.w.after(0, func() { f.p.do(func() { f.look(false) }) })
	}
}

// serveFetch answers a follower's fetch, when there is something to tell or its wait is over. There are no sessions: each fetch is full.
func (p *process) serveFetch(req *kmsg.FetchRequest, answer func(any)) {
	f := &fetchWait{p: p, req: req, answer: answer}
	for _, t := range req.Topics {
		for _, rp := range t.Partitions {
			if part, _ := p.parts.GetByID(kafka.TopicIDPartition{TopicID: t.TopicID, Partition: rp.Partition}); part != nil {
				watch := &partition.Watch{Watcher: f, Kind: partition.WatchLogEnd}
				part.Watch(watch)
				f.watches = append(f.watches, watch)
			}
		}
	}
	f.look(false)
	p.h.w.after(time.Duration(min(req.MaxWaitMillis, 300))*time.Millisecond, func() { p.do(func() { f.look(true) }) })
}

// look answers if it is time to.
func (f *fetchWait) look(atOnce bool) {
	if f.over {
		return
	}
	f.woken = false
	resp := &kmsg.FetchResponse{Version: f.req.Version}
	full := atOnce
	for _, t := range f.req.Topics {
		out := kmsg.NewFetchResponseTopic()
		out.TopicID = t.TopicID
		for _, rp := range t.Partitions {
			r, something := f.p.fetchOne(f.req, kafka.TopicIDPartition{TopicID: t.TopicID, Partition: rp.Partition}, rp)
			full = full || something
			out.Partitions = append(out.Partitions, r)
		}
		resp.Topics = append(resp.Topics, out)
	}
	f.p.flush()
	if !full {
		return
	}
	f.over = true
	for _, watch := range f.watches {
		watch.Stop()
	}
	f.answer(recodeResponse(f.p.h.w, f.req, resp))
}

func (p *process) fetchOne(req *kmsg.FetchRequest, id kafka.TopicIDPartition, rp kmsg.FetchRequestTopicPartition) (kmsg.FetchResponseTopicPartition, bool) {
	r := kmsg.NewFetchResponseTopicPartition()
	r.Partition = rp.Partition
	part, code := p.parts.GetByID(id)
	if part == nil {
		r.ErrorCode = int16(code)
		return r, true
	}
	_, leader := part.Role()
	got := part.Fetch(partition.FetchRequest{
		From: kafka.Offset(rp.FetchOffset), MaxBytes: int(rp.PartitionMaxBytes), AtLeastOneBatch: true,
		CurrentLeaderEpoch: kafka.LeaderEpoch(rp.CurrentLeaderEpoch), LastFetchedEpoch: kafka.LeaderEpoch(rp.LastFetchedEpoch),
		Replica: kafka.NodeID(req.ReplicaState.ID), ReplicaEpoch: kafka.BrokerEpoch(req.ReplicaState.Epoch),
		ReplicaLogStart: kafka.Offset(rp.LogStartOffset), ReplicaHW: kafka.Offset(rp.HighWatermark), Now: p.h.w.now,
	})
	p.h.w.check.served(p.h.w, p, id, kafka.LeaderEpoch(rp.CurrentLeaderEpoch), leader.Epoch, got.Code)
	r.ErrorCode, r.HighWatermark, r.LogStartOffset = int16(got.Code), int64(got.HighWatermark), int64(got.LogStart)
	if got.Diverging.Epoch != kafka.NoLeaderEpoch {
		r.DivergingEpoch.Epoch, r.DivergingEpoch.EndOffset = int32(got.Diverging.Epoch), int64(got.Diverging.End)
	}
	r.RecordBatches = p.bytes(got)
	return r, got.Code != kafka.None || got.StaleHW || len(r.RecordBatches) > 0 || got.Diverging.Epoch != kafka.NoLeaderEpoch
}

// bytes are the records of a fetch.
func (p *process) bytes(r partition.FetchResult) []byte {
	if r.Slice.Len == 0 {
		return nil
	}
	defer r.Slice.Release()
	data, err := r.Slice.Bytes()
	if err != nil {
		p.note("read", err)
		return nil
	}
	return data
}
