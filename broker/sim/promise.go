package sim

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

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
		w.breach("log end", "broker %d: the watermark %d of %v is above its log end %d", p.h.id, d.HighWatermark, id, d.LogEnd)
	}
	if d.HighWatermark < d.LogStart {
		w.breach("log end", "broker %d: the watermark %d of %v is below its log start %d", p.h.id, d.HighWatermark, id, d.LogStart)
	}
	if d.Role == replica.Leader {
		l := leadership{id, d.Leader.Epoch}
		c.latest[l] = max(c.latest[l], d.HighWatermark)
	}
}

// minISR is the min.insync.replicas of the topics of a run.
func (w *World) minISR() int {
	n, err := strconv.Atoi(w.topics[0].configs["min.insync.replicas"])
	if err != nil {
		w.fail("min.insync.replicas: %v", err)
	}
	return n
}

// copied looks at the replicas when a leader says that a batch that was sent at some time and ends before next is committed.
func (c *checker) copied(w *World, tp kafka.TopicPartition, sent kafka.Elapsed, next kafka.Offset) {
	topic := w.image().TopicByName(tp.Topic)
	if topic == nil {
		return
	}
	copies, s := 0, topic.Partition(tp.Partition)
	for _, n := range s.Replicas {
		if p := w.hosts[n].proc; p == nil || p.began >= sent || w.describe(n, tp.Topic, tp.Partition).LogEnd >= next {
			copies++
		}
	}
	if copies < w.minISR() {
		w.breach("copies", "what is acknowledged up to %d of %v is at %d of the brokers %v", next, tp, copies, s.Replicas)
	}
}

// admitted looks at what a produce with acks=all did to a leader.
func (c *checker) admitted(w *World, p *process, before, after partition.Description) {
	if before.Role == replica.Leader && len(before.ISR) < w.minISR() && after.LogEnd > before.LogEnd {
		w.breach("min ISR", "broker %d took in records with acks=all while the ISR was %v", p.h.id, before.ISR)
	}
}

// served looks at the answer to a fetch that names a leader epoch, of a replica that was in some epoch then.
func (c *checker) served(w *World, p *process, id kafka.TopicIDPartition, asked, in kafka.LeaderEpoch, code kafka.ErrorCode) {
	if code == kafka.None && asked != kafka.NoLeaderEpoch && asked != in {
		w.breach("epochs", "broker %d answers a fetch of epoch %d of %v in epoch %d", p.h.id, asked, id, in)
	}
}

// fetched looks at the logs of a follower after it took an answer.
func (c *checker) fetched(w *World, p *process) {
	for _, part := range p.parts.All() {
		if d := part.Describe(); d.Role == replica.Follower && d.LastEpoch > d.Leader.Epoch {
			w.breach("epochs", "broker %d: the log of %v has epoch %d, its image has %d", p.h.id, part.ID(), d.LastEpoch, d.Leader.Epoch)
		}
	}
}

// proposalLimit is how old a proposal may be when it is sent, again after others were lost, by a leader that is not yet fenced for that.
const proposalLimit = 2 * sessionTimeout

// proposed looks at an ISR change that a leader asks for. One that fenced itself hears nothing new, and sends its old one until it does.
func (c *checker) proposed(w *World, p *process, req *kmsg.AlterPartitionRequest) {
	if !p.member.Serving() {
		return
	}
	for _, t := range req.Topics {
		for _, rp := range t.Partitions {
			s := p.image.Partition(kafka.TopicIDPartition{TopicID: t.TopicID, Partition: rp.Partition})
			if s == nil || s.LeaderEpoch != kafka.LeaderEpoch(rp.LeaderEpoch) || s.Epoch != kafka.PartitionEpoch(rp.PartitionEpoch) {
				continue // on its way to another state
			}
			for _, m := range rp.NewEpochISR {
				n, epoch := kafka.NodeID(m.BrokerID), kafka.BrokerEpoch(m.BrokerEpoch)
				b := p.image.Broker(n)
				if s.InISR(n) || w.now < p.brokerSince[n].Add(proposalLimit) || b != nil && b.Eligible() && (epoch == kafka.NoBrokerEpoch || epoch == b.Epoch) {
					continue
				}
				w.breach("proposals", "broker %d proposes broker %d of epoch %d for the ISR of %v-%d; its image has %+v", p.h.id, n, epoch, kafka.TopicID(t.TopicID), rp.Partition, b)
			}
		}
	}
}

// joined looks whether a replica that kept up with its leader for long is in the ISR.
func (c *checker) joined(w *World, tp kafka.TopicPartition, n kafka.NodeID) {
	if s := w.image().TopicByName(tp.Topic).Partition(tp.Partition); !s.InISR(n) {
		w.breach("joined", "broker %d keeps up with its leader and is not in the ISR of %v: %v", n, tp, s.ISR)
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
		w.breach("log end", "broker %d: %v has its watermark at %d, its log from %d to %d", p.h.id, part.ID(), d.HighWatermark, d.LogStart, d.LogEnd)
	}
	r := part.ListOffsets(partition.ListOffsetsRequest{Timestamp: -1, CurrentLeaderEpoch: kafka.NoLeaderEpoch, Replica: kafka.NoNode})
	if r.Code != kafka.None {
		return
	}
	at := leadership{part.ID(), part.Describe().Leader.Epoch}
	if most := c.visible(at); r.Offset < most {
		w.breach("latest", "broker %d tells %d as the latest offset of %v in epoch %d; before, readers could see up to %d", p.h.id, r.Offset, at.id, at.epoch, most)
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
			if o == h || o.proc == nil || !o.proc.node.Leading() || w.check.decidesSince(o) > began || o.proc.node.Stalled() {
				continue
			}
			if b := o.proc.image.Broker(h.id); b != nil && !b.Fenced && o.proc.image.Version() == w.image().Version() {
				w.breach("silence", "broker %d was cut off for %v and is not fenced", h.id, unheardLimit)
			}
		}
	})
}

// decidesSince is when a broker began to lead the quorum with a log that takes entries, far in the future when it does not.
func (c *checker) decidesSince(h *host) kafka.Elapsed {
	if h.proc == nil || !h.proc.node.Leading() || h.proc.node.Stalled() {
		return 1 << 62
	}
	return h.proc.decidesSince
}
