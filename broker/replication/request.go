package replication

import (
	"bytes"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchVersion is the version of Fetch that followers speak: topic ids, replica state and watermark as tags.
const fetchVersion = 18

// Next builds the next fetch, with the epoch of this broker's registration. It returns false when there is nothing to
// ask, a fetch is out, or the last one failed a moment ago: see WakeAt. The request is valid until the next call of Next.
func (f *Fetcher) Next(now kafka.Elapsed, broker kafka.BrokerEpoch) (*kmsg.FetchRequest, bool) {
	if f.inFlight {
		return nil, false
	}
	f.drain()
	req, ok := f.next(now, broker)
	if !ok {
		f.unpark()
	}
	f.inFlight = ok
	return req, ok
}

func (f *Fetcher) next(now kafka.Elapsed, broker kafka.BrokerEpoch) (*kmsg.FetchRequest, bool) {
	if now < f.restUntil {
		return nil, false
	}
	f.restUntil = 0
	f.wakeRested(now)
	f.offer()
	req := f.begin(broker)
	if f.epoch == 0 {
		for _, p := range f.changed {
			p.queued = false
		}
		f.changed = f.changed[:0]
		for _, p := range f.sorted() {
			f.hold(p, false)
			f.ask(req, p, now)
		}
		f.forgotten = f.forgotten[:0]
	} else {
		changed := f.changed
		f.changed = f.spare[:0]
		f.spare = changed
		for _, p := range changed {
			p.queued = false
			f.ask(req, p, now)
		}
		f.forget(req)
	}
	if f.held == 0 {
		f.closed() // nothing is left in it: not worth a request
		return nil, false
	}
	return req, true
}

// offer moves what the express lane has brought under way on to the main lane.
func (f *Fetcher) offer() {
	if f.moveOn == nil || !f.mayMoveOn() {
		return // the main lane is out most of the time: not worth sorting thousands
	}
	for _, p := range f.sorted() {
		if p.answered && f.moveOn(p.r) {
			f.drop(p)
		}
	}
}

// begin resets the request.
func (f *Fetcher) begin(broker kafka.BrokerEpoch) *kmsg.FetchRequest {
	req := &f.req
	topics, forgotten := req.Topics[:0], req.ForgottenTopics[:0]
	*req = kmsg.NewFetchRequest()
	req.Topics, req.ForgottenTopics = topics, forgotten
	req.Version = fetchVersion
	req.ReplicaState.ID, req.ReplicaState.Epoch = int32(f.o.Self), int64(broker)
	req.MaxWaitMillis = int32(f.o.MaxWait.Milliseconds())
	req.MinBytes, req.MaxBytes = f.o.MinBytes, f.o.MaxBytes
	req.SessionID, req.SessionEpoch = f.sessionID, f.epoch
	clear(f.topicAt)
	return req
}

// ask names a partition in the request, unless the session has it with this very position.
func (f *Fetcher) ask(req *kmsg.FetchRequest, p *follow, now kafka.Elapsed) {
	if p.gone || p.restUntil != 0 {
		return
	}
	if p.r.Throttled() {
		if wait := f.o.Throttle.Wait(now); wait > 0 {
			f.pause(p, now.Add(wait))
			return
		}
	}
	pos, ok := p.r.FetchPosition()
	if !ok {
		f.rest(p, now)
		return
	}
	if pos.Unsettled {
		f.touch(p)
	}
	if p.inSession && pos == p.asked {
		return
	}
	p.asked = pos
	f.hold(p, true)
	t := f.topic(req, p.id.TopicID)
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition = p.id.Partition
	rp.CurrentLeaderEpoch = int32(pos.LeaderEpoch)
	rp.LastFetchedEpoch = int32(pos.LastEpoch)
	rp.FetchOffset = int64(pos.From)
	rp.LogStartOffset = int64(pos.LogStart)
	rp.HighWatermark = int64(pos.Watermark)
	rp.PartitionMaxBytes = f.o.PartitionMaxBytes
	t.Partitions = append(t.Partitions, rp)
}

// topic finds or adds a topic of the request, using the memory of earlier requests again.
func (f *Fetcher) topic(req *kmsg.FetchRequest, id kafka.TopicID) *kmsg.FetchRequestTopic {
	if i, ok := f.topicAt[id]; ok {
		return &req.Topics[i]
	}
	n := len(req.Topics)
	f.topicAt[id] = n
	if n < cap(req.Topics) {
		req.Topics = req.Topics[:n+1]
		req.Topics[n] = kmsg.FetchRequestTopic{TopicID: id, Partitions: req.Topics[n].Partitions[:0]}
	} else {
		req.Topics = append(req.Topics, kmsg.FetchRequestTopic{TopicID: id})
	}
	return &req.Topics[n]
}

// forget names the partitions that the session shall drop. One that came back meanwhile stays.
func (f *Fetcher) forget(req *kmsg.FetchRequest) {
	for _, id := range f.forgotten {
		if p := f.follows[id]; p != nil && p.inSession {
			continue
		}
		n := len(req.ForgottenTopics)
		if n == 0 || req.ForgottenTopics[n-1].TopicID != id.TopicID {
			req.ForgottenTopics = append(req.ForgottenTopics, kmsg.FetchRequestForgottenTopic{TopicID: id.TopicID})
			n++
		}
		t := &req.ForgottenTopics[n-1]
		t.Partitions = append(t.Partitions, id.Partition)
	}
	f.forgotten = f.forgotten[:0]
}

// hold notes whether the session holds a partition.
func (f *Fetcher) hold(p *follow, in bool) {
	switch {
	case in && !p.inSession:
		f.held++
	case !in && p.inSession:
		f.held--
	}
	p.inSession = in
}

// closed forgets the session: the next fetch is full.
func (f *Fetcher) closed() {
	f.sessionID, f.epoch = 0, 0
	for _, p := range f.follows {
		p.inSession, p.asked = false, replica.FetchPosition{}
	}
	f.held = 0
	f.forgotten = f.forgotten[:0]
}

// sorted lists all partitions in order of topic id and number.
func (f *Fetcher) sorted() []*follow {
	all := make([]*follow, 0, len(f.follows))
	for _, p := range f.follows {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *follow) int {
		if c := bytes.Compare(a.id.TopicID[:], b.id.TopicID[:]); c != 0 {
			return c
		}
		return int(a.id.Partition) - int(b.id.Partition)
	})
	return all
}
