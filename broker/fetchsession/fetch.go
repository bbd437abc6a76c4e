package fetchsession

import (
	"iter"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Fetch is one fetch between Open and Finish.
type Fetch struct {
	session     *session
	incremental bool
	// wantsPlace: the session is new and takes a place in the cache at Finish, if there is one.
	wantsPlace bool
	// served are the partitions whose records an incremental response has, in its order.
	served []*node
}

// All gives the partitions in the order in which they are to be served.
func (f *Fetch) All() iter.Seq[*Partition] {
	return func(yield func(*Partition) bool) {
		s := f.session
		for n := s.root.next; n != &s.root; n = n.next {
			if !yield(&n.Partition) {
				return
			}
		}
	}
}

// Changed lists the partitions of a session that the request names, and those whose topic is another, or has another answer,
// than at the fetch before. Some may be in Forgotten too.
func (f *Fetch) Changed() []*Partition { return f.session.changed }

// Forgotten lists the partitions that the session does not have any more.
func (f *Fetch) Forgotten() []*Partition { return f.session.forgotten }

// Attached is what Attach has put into the session, nil at first and after the session ended for [Cache.Detached].
func (f *Fetch) Attached() any { return f.session.attached }

// Attach keeps a value of the caller with the session. When the session ends, or its fetcher was not heard of for long, it comes
// out of [Cache.Detached], and never while a fetch is under way.
func (f *Fetch) Attach(v any) { f.session.attached = v }

// Len is the number of partitions.
func (f *Fetch) Len() int { return len(f.session.nodes) }

// Incremental tells whether only news belongs into the response.
func (f *Fetch) Incremental() bool { return f.incremental }

// Include tells whether a partition of All belongs into the response, and remembers that it was told. It is called once for each
// partition, in the order of All, with the result that the response would have. A full fetch includes all.
//
// News are: records, an error, a diverging epoch, a preferred replica, another high watermark or log start than told
// before. After an error the watermark counts as not told, so that the end of the error is news too.
func (f *Fetch) Include(p *Partition, r Result) bool {
	n := p.node
	news := !f.incremental || r.RecordBytes > 0 || r.Code != kafka.None || r.Diverging || r.Preferred ||
		r.HighWatermark != n.highWatermark || r.LogStart != n.logStart
	n.highWatermark, n.logStart = r.HighWatermark, r.LogStart
	if r.Code != kafka.None {
		n.highWatermark = kafka.NoOffset
	}
	if f.incremental && r.RecordBytes > 0 {
		f.served = append(f.served, n)
	}
	return news
}
