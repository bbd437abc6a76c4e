package handler

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/fetchsession"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// maxFetchWait bounds a long poll, whatever the client asks for.
const maxFetchWait = 5 * time.Minute

// fetch answers Fetch 4 to 18, of consumers and of followers.
//
//	v7   sessions (KIP-227)
//	v11  consumers may read from followers in their rack (KIP-392)
//	v12  divergence is told with the fetch (KIP-595)
//	v13  topics by id (KIP-516)
//	v15  a follower names its broker epoch (KIP-903)
//	v16  the leader, when it is not us (KIP-951)
//	v18  a follower tells its high watermark (KIP-1166)
//
// The answer goes out when there are min_bytes, or an error, or something that a follower must know at once; else when the
// client's time is over. The first batch of the first partition that has one is returned whole; everything else must fit.
func (h *Handler) fetch(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.FetchRequest)
	f := &fetchCall{call: c, handler: h, req: req, replica: replicaOf(req), epoch: kafka.NoBrokerEpoch}
	if req.Version >= 15 && f.replica != kafka.NoNode {
		f.epoch = kafka.BrokerEpoch(req.ReplicaState.Epoch)
	}
	var code kafka.ErrorCode
	if f.session, code = h.sessions.open(req, c.image, h.Clock.Elapsed()); code != kafka.None {
		return c.answerChunks(f.encode(wire.FetchResponse{Code: code}))
	}
	if f.session.Incremental() {
		f.watch = f.watchSession()
		f.readNews()
	} else {
		f.parts = make([]fetchPart, 0, f.session.Len())
		for p := range f.session.All() {
			f.parts = append(f.parts, fetchPart{asked: p})
		}
		f.readAll()
	}
	if f.satisfied() {
		return c.answerChunks(f.finish())
	}
	reply := conn.Pending()
	c.Retain()
	go f.poll(reply, min(time.Duration(req.MaxWaitMillis)*time.Millisecond, maxFetchWait))
	return reply
}

// replicaOf is the follower that fetches, NoNode for a consumer.
func replicaOf(req *kmsg.FetchRequest) kafka.NodeID {
	id := req.ReplicaID
	if req.Version >= 15 {
		id = req.ReplicaState.ID
	}
	if id < 0 {
		return kafka.NoNode // -1 is a consumer, -2 a debugging one
	}
	return kafka.NodeID(id)
}

// fetchCall is one fetch on its way. It belongs to one goroutine at a time.
type fetchCall struct {
	*call
	handler *Handler
	req     *kmsg.FetchRequest
	replica kafka.NodeID
	epoch   kafka.BrokerEpoch
	session *fetchsession.Fetch
	watch   *sessionWatch // of the session; nil: the session has none, or there is no session
	parts   []fetchPart   // in the order in which they are served; of a watched session those that were looked at
}

// fetchPart is one partition of the fetch with what the last read of it gave.
type fetchPart struct {
	asked   *fetchsession.Partition
	watched *watchedPart         // nil when the session is not watched
	target  *partition.Partition // nil when it could not be found
	result  partition.FetchResult
	// throttled: what is read for this follower counts for Options.Throttle.
	throttled bool
}

// readAll reads every partition, within the response's limit.
func (f *fetchCall) readAll() {
	left := f.limit()
	first := true
	for i := range f.parts {
		f.parts[i].result.Slice.Release()
		f.read(&f.parts[i], max(left, 0), first)
		if n := f.parts[i].result.Slice.Len; n > 0 {
			first = false
			left -= n
		}
	}
}

// limit is the most bytes of records in the response, but for a first batch that is larger.
func (f *fetchCall) limit() int {
	if f.replica != kafka.NoNode {
		return int(f.req.MaxBytes)
	}
	return int(min(f.req.MaxBytes, f.handler.Settings().Network.FetchMaxBytes))
}

// read reads one partition, at most limit bytes of it; first tells that a batch larger than the limits may come.
func (f *fetchCall) read(p *fetchPart, limit int, first bool) {
	p.result = refusedFetch(p.asked.Code)
	if p.asked.Code == kafka.None {
		p.target, p.result.Code = f.find(p.asked)
	} else {
		p.target = nil
	}
	if p.watched != nil {
		p.watched.follow(p.target)
	}
	if p.result.Code != kafka.None {
		return
	}
	throttle := f.handler.Throttle
	p.throttled = f.replica != kafka.NoNode && p.target.ThrottledTo(f.replica)
	if p.throttled && throttle.Wait(f.handler.Clock.Elapsed()) > 0 {
		limit, first = 0, false // the follower's position counts all the same
	}
	p.result = p.target.Fetch(partition.FetchRequest{
		From: p.asked.FetchOffset, MaxBytes: min(limit, int(max(p.asked.MaxBytes, 0))), AtLeastOneBatch: first,
		Isolation: partition.Isolation(f.req.IsolationLevel), CurrentLeaderEpoch: p.asked.CurrentLeaderEpoch, LastFetchedEpoch: p.asked.LastFetchedEpoch,
		Replica: f.replica, ReplicaEpoch: f.epoch, ReplicaLogStart: p.asked.LogStart, ReplicaHW: p.asked.HighWatermark,
		AllowFollower: f.req.Version >= 11, Rack: f.req.Rack, Now: f.handler.Clock.Elapsed(),
	})
}

func (f *fetchCall) find(asked *fetchsession.Partition) (*partition.Partition, kafka.ErrorCode) {
	if asked.TopicID.IsZero() {
		return f.handler.partitionOf(kafka.TopicPartition{Topic: asked.Topic, Partition: asked.Partition})
	}
	p, code := f.handler.partitionByID(kafka.TopicIDPartition{TopicID: asked.TopicID, Partition: asked.Partition})
	if code == kafka.UnknownTopicID && f.req.Version < 13 {
		code = kafka.UnknownTopicOrPartition // deleted since it was looked up; clients of these versions know no ids
	}
	return p, code
}

// refusedFetch is a result with nothing in it.
func refusedFetch(code kafka.ErrorCode) partition.FetchResult {
	return partition.FetchResult{
		Code: code, HighWatermark: kafka.NoOffset, LastStable: kafka.NoOffset, LogStart: kafka.NoOffset,
		Diverging: partition.Diverging{Epoch: kafka.NoLeaderEpoch, End: kafka.NoOffset}, Preferred: kafka.NoNode,
		Leader: partition.Leader{ID: kafka.NoNode, Epoch: kafka.NoLeaderEpoch},
	}
}

// satisfied tells whether the answer should go out now.
func (f *fetchCall) satisfied() bool {
	if f.req.MaxWaitMillis <= 0 || f.session.Len() == 0 {
		return true
	}
	bytes := 0
	for i := range f.parts {
		r := &f.parts[i].result
		if r.Code != kafka.None || r.Diverging.Epoch != kafka.NoLeaderEpoch || r.Preferred != kafka.NoNode {
			return true
		}
		bytes += r.Slice.Len
	}
	return bytes >= int(f.req.MinBytes)
}
