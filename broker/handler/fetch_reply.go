package handler

import (
	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/fetchsession"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// finish ends the fetch in its session and encodes the response. The slices go into the chunks, whose owners release them.
func (f *fetchCall) finish() []conn.Chunk {
	f.toldAll()
	var resp wire.FetchResponse
	var hints leaderHints
	v := f.view()
	v.image = f.handler.Images.Current() // what is told of leaders is newer than the request, after a long poll
	for i := range f.parts {
		p := &f.parts[i]
		if !f.session.Include(p.asked, p.told()) {
			p.result.Slice.Release()
			continue
		}
		if n := p.result.Slice.Len; n > 0 && f.replica == kafka.NoNode {
			p.target.Served(n)
		}
		if n := p.result.Slice.Len; n > 0 && p.throttled {
			f.handler.Throttle.Take(n, f.handler.Clock.Elapsed())
		}
		out := p.encoded()
		if out.Code == kafka.NotLeaderOrFollower || out.Code == kafka.FencedLeaderEpoch {
			if p.target == nil {
				l := v.leaderOf(p.asked.Topic, p.asked.TopicID, p.asked.Partition)
				out.Leader, out.LeaderEpoch = l.ID, l.Epoch
			}
			hints.add(v, out.Leader)
		} else {
			out.Leader, out.LeaderEpoch = kafka.NoNode, kafka.NoLeaderEpoch
		}
		if n := len(resp.Topics); n == 0 || resp.Topics[n-1].Name != p.asked.Topic || resp.Topics[n-1].ID != p.asked.TopicID {
			resp.Topics = append(resp.Topics, wire.FetchTopic{Name: p.asked.Topic, ID: p.asked.TopicID})
		}
		t := &resp.Topics[len(resp.Topics)-1]
		t.Partitions = append(t.Partitions, out)
	}
	resp.Endpoints = hints
	resp.SessionID = f.handler.sessions.finish(f.session, f.handler.Clock.Elapsed())
	return f.encode(resp)
}

// told is what decides whether an incremental response has the partition.
func (p *fetchPart) told() fetchsession.Result {
	return fetchsession.Result{
		Code: p.result.Code, HighWatermark: p.result.HighWatermark, LogStart: p.result.LogStart, RecordBytes: p.result.Slice.Len,
		Diverging: p.result.Diverging.Epoch != kafka.NoLeaderEpoch, Preferred: p.result.Preferred != kafka.NoNode,
	}
}

func (p *fetchPart) encoded() wire.FetchPartition {
	r := &p.result
	out := wire.NewFetchPartition(p.asked.Partition, r.Code)
	out.HighWatermark, out.LastStable, out.LogStart = r.HighWatermark, r.LastStable, r.LogStart
	out.PreferredReplica, out.DivergingEpoch, out.DivergingEnd = r.Preferred, r.Diverging.Epoch, r.Diverging.End
	out.Leader, out.LeaderEpoch = r.Leader.ID, r.Leader.Epoch
	out.RecordBytes = r.Slice.Len
	if r.Aborted != nil {
		out.Aborted = make([]wire.AbortedTransaction, len(r.Aborted))
		for i, a := range r.Aborted {
			out.Aborted[i] = wire.AbortedTransaction{Producer: a.ProducerID, First: a.First}
		}
	}
	return out
}

// encode makes the frame: its bytes with the slices' file ranges between them.
func (f *fetchCall) encode(resp wire.FetchResponse) []conn.Chunk {
	var frame wire.FetchFrame
	wire.AppendFetchResponse(&frame, f.Header, &resp)
	chunks := make([]conn.Chunk, 0, 2*len(frame.Splices)+1)
	at := 0
	next := f.slices()
	for _, s := range frame.Splices {
		chunks = append(chunks, conn.Chunk{Bytes: frame.Head[at:s.At]}, next())
		at = s.At
	}
	return append(chunks, conn.Chunk{Bytes: frame.Head[at:]})
}

// slices gives the parts' slices that have bytes, in order: the order of the splices.
func (f *fetchCall) slices() func() conn.Chunk {
	i := -1
	return func() conn.Chunk {
		for i++; f.parts[i].result.Slice.Len == 0; i++ {
		}
		s := &f.parts[i].result.Slice
		return conn.Chunk{File: s.File, Pos: s.Pos, Len: s.Len, Owner: s}
	}
}

// abandon releases what was read for a client that is gone.
func (f *fetchCall) abandon() {
	for i := range f.parts {
		f.parts[i].result.Slice.Release()
	}
	if f.watch != nil { // what was looked at was not told, and whether the fetcher comes back is open
		f.session.Attach(nil)
		f.watch.stop()
	}
	f.handler.sessions.abandon(f.session)
}

// answerChunks is a complete reply in parts.
func (c *call) answerChunks(chunks []conn.Chunk) *conn.Reply { return conn.AnswerChunks(chunks) }
