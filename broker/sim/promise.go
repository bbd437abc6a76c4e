package sim

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// watermark looks at a replica whose watermark moved.
func (c *checker) watermark(w *World, p *process, id kafka.TopicIDPartition) {
	part, _ := p.parts.GetByID(id)
	if part == nil {
		return
	}
	d := part.Describe()
	if d.HighWatermark > d.LogEnd {
		w.fail("broker %d: the watermark %d of %v is above its log end %d", p.h.id, d.HighWatermark, id, d.LogEnd)
	}
	if d.Role == replica.Leader {
		l := leadership{id, d.Leader.Epoch}
		c.latest[l] = max(c.latest[l], d.HighWatermark)
	}
}

// minISR is what the topics of a run ask for.
const minISR = 2

// admitted looks at what a produce with acks=all did to a leader.
func (c *checker) admitted(w *World, p *process, before, after partition.Description) {
	if before.Role == replica.Leader && len(before.ISR) < minISR && after.LogEnd > before.LogEnd {
		w.fail("broker %d took in records with acks=all while the ISR was %v", p.h.id, before.ISR)
	}
}

// probe asks a random leader for its latest offset, again and again.
func (c *checker) probe(w *World) {
	w.after(w.between(0, 60*time.Millisecond), func() { c.probe(w) })
	p := w.somebody()
	if p == nil {
		return
	}
	all := p.parts.All()
	if len(all) == 0 {
		return
	}
	part := all[w.rnd.IntN(len(all))]
	if d := part.Describe(); d.HighWatermark < d.LogStart || d.HighWatermark > d.LogEnd {
		w.fail("broker %d: %v has its watermark at %d, its log from %d to %d", p.h.id, part.ID(), d.HighWatermark, d.LogStart, d.LogEnd)
	}
	r := part.ListOffsets(partition.ListOffsetsRequest{Timestamp: -1, CurrentLeaderEpoch: kafka.NoLeaderEpoch, Replica: kafka.NoNode})
	if r.Code != kafka.None {
		return
	}
	at := leadership{part.ID(), part.Describe().Leader.Epoch}
	if most := c.visible(at); r.Offset < most {
		w.fail("broker %d tells %d as the latest offset of %v in epoch %d; before, readers could see up to %d", p.h.id, r.Offset, at.id, at.epoch, most)
	}
	c.latest[at] = max(c.latest[at], r.Offset)
}

// visible is the latest offset that was ever seen up to an epoch.
func (c *checker) visible(at leadership) kafka.Offset {
	most := kafka.Offset(0)
	for l, visible := range c.latest {
		if l.id == at.id && l.epoch <= at.epoch {
			most = max(most, visible)
		}
	}
	return most
}

// unheardLimit is within which a broker that nobody hears is fenced, when the quorum decided all the time since its session ended.
const unheardLimit = sessionTimeout + 2*time.Second

// expectFenced looks, when a session and an election are over, whether a broker that nobody could hear was fenced.
func (c *checker) expectFenced(w *World, h *host) {
	calms, p := w.net.calms, h.proc
	if p == nil {
		return
	}
	began := w.now
	w.after(unheardLimit, func() {
		if w.net.calms != calms || h.proc != p || w.failure != "" {
			return
		}
		for _, o := range w.hosts { // a quorum that decides long enough to have noticed
			if o == h || o.proc == nil || !o.proc.node.Leading() || w.check.decidesSince(o) > began {
				continue
			}
			if b := o.proc.image.Broker(h.id); b != nil && !b.Fenced && o.proc.image.Version() == w.image().Version() {
				w.fail("broker %d was cut off for %v and is not fenced", h.id, unheardLimit)
			}
		}
	})
}

// decidesSince is when a broker's present leadership of the quorum began, far in the future when it has none.
func (c *checker) decidesSince(h *host) kafka.Elapsed {
	if h.proc == nil || !h.proc.node.Leading() {
		return 1 << 62
	}
	return h.proc.decidesSince
}
