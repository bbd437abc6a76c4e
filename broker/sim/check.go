package sim

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
)

// checker holds what must be true. Its promises:
//
//	terms      a term of the quorum has one leader that decides
//	images     brokers have equal images at equal versions, in their lives and after their deaths: replay equals live
//	elected    a leader epoch of a partition has one leader
//	committed  what is below a high watermark is the same on every replica, for ever
//	watermark  the watermark of a replica does not go back while its process lives
//	acks       what was acknowledged is there at the offset that was told, once
//	latest     the latest offset that a leader tells is not below what leaders before it told or committed (KIP-207)
//	log end    a watermark is within the replica's own log
//	epochs     a leader answers a fetch that names a leader epoch only in that epoch; no log has an epoch that its broker's image does not know
//	proposals  a leader proposes for its ISR only brokers that are eligible in its own image, in the life that the image knows
//	min ISR    a leader takes in nothing with acks=all while its ISR is below min.insync.replicas
//	elections  a leader comes from ISR or ELR, while there are any
//	joining    who joins an ISR is neither fenced nor stopping
//	leaving    ISR and ELR together stay at min.insync.replicas, as far as their members did not start anew
//	anew       who comes back after an unclean stop, or with another directory, is in no ISR and no ELR
//	silence    a broker that nobody hears is fenced after its session
//	ids        a process with the id of a broker that is alive is not registered
//	copies     what is acknowledged with acks=all is at min.insync.replicas brokers at least, as far as these did not die since it was sent
//	answers    a producer gets no answer that accuses it: it did nothing wrong
//	convergence  when all faults are over, every broker serves, every replica is in its ISR and every preferred one leads within a minute (at the end)
//	joined     who keeps up with a leader joins its ISR (in scenarios)
//	sequences  the records of a producer are in the log in order, without gap or duplicate (at the end)
type checker struct {
	terms     map[uint64]kafka.NodeID
	images    map[uint64]uint64 // digest by version
	elected   map[leadership]kafka.NodeID
	committed map[kafka.TopicIDPartition][]string // by offset: epoch and value
	ackedAt   map[kafka.TopicPartition]map[kafka.Offset]string
	acks      int

	latest map[leadership]kafka.Offset // visible in each epoch

	unread   []unread // below watermarks that moved in this event
	nextLook kafka.Elapsed
	missing  string
}

type leadership struct {
	id    kafka.TopicIDPartition
	epoch kafka.LeaderEpoch
}

// unread is a part of a replica's log that has become committed, or a replica that was truncated.
type unread struct {
	p     *process
	id    kafka.TopicIDPartition
	first kafka.Offset // NoOffset: nothing became committed
}

// unknown stands for a record that was deleted before the checker could read it.
const unknown = "?"

func (c *checker) init() {
	c.terms, c.images = map[uint64]kafka.NodeID{}, map[uint64]uint64{}
	c.elected, c.committed = map[leadership]kafka.NodeID{}, map[kafka.TopicIDPartition][]string{}
	c.latest = map[leadership]kafka.Offset{}
	c.ackedAt = map[kafka.TopicPartition]map[kafka.Offset]string{}
}

func (c *checker) leads(w *World, h *host, term uint64) {
	if other, ok := c.terms[term]; ok && other != h.id {
		w.breach("terms", "term %d of the quorum has two leaders: %d and %d", term, other, h.id)
	}
	c.terms[term] = h.id
}

func (c *checker) image(w *World, h *host, image *metadata.Image, delta *metadata.Delta) {
	if _, seen := c.images[image.Version()]; !seen {
		c.registrations(w, image, delta)
		for _, d := range delta.Partitions {
			if s := d.After; s != nil {
				c.transition(w, h, image, delta, d)
				w.logf("image %d: %s-%d: leader %d of epoch %d, ISR %v, ELR %v, last known %v", image.Version(), d.Topic, d.Partition,
					s.Leader, s.LeaderEpoch, s.ISR, s.ELR, s.LastKnownELR)
			}
		}
	}

	d := fnv.New64a()
	_, _ = d.Write(metadata.EncodeRecords(nil, image.Records()))
	if was, ok := c.images[image.Version()]; ok && was != d.Sum64() {
		w.breach("images", "broker %d has another image of version %d than was seen before", h.id, image.Version())
	}
	c.images[image.Version()] = d.Sum64()
}

// observer brings a process's events to the checker. It is called under locks: it only notes.
type observer struct{ p *process }

func (o observer) Watermark(id kafka.TopicIDPartition, from, to kafka.Offset) {
	w := o.p.h.w
	if to < from {
		w.breach("watermark", "broker %d: the watermark of %v goes back from %d to %d", o.p.h.id, id, from, to)
	}
	w.check.unread = append(w.check.unread, unread{o.p, id, from})
}

func (o observer) Truncated(id kafka.TopicIDPartition, to, end kafka.Offset) {
	w := o.p.h.w
	w.check.unread = append(w.check.unread, unread{o.p, id, kafka.NoOffset})
	w.logf("broker %d truncates %v from %d to %d", o.p.h.id, id.Partition, end, to)
}

func (o observer) Elected(id kafka.TopicIDPartition, epoch kafka.LeaderEpoch, start kafka.Offset) {
	w := o.p.h.w
	w.logf("broker %d leads %v in epoch %d from %d", o.p.h.id, id.Partition, epoch, start)
	l := leadership{id, epoch}
	if other, ok := w.check.elected[l]; ok && other != o.p.h.id {
		w.breach("elected", "epoch %d of %v has two leaders: %d and %d", epoch, id, other, o.p.h.id)
	}
	w.check.elected[l] = o.p.h.id
}

// step looks at what became committed in the event before.
func (c *checker) step(w *World) {
	if len(c.unread) == 0 {
		return
	}
	todo := c.unread
	c.unread = nil
	for _, u := range todo {
		if u.p.h.proc == u.p {
			c.watermark(w, u.p, u.id)
			if u.first != kafka.NoOffset {
				c.read(w, u.p, u.id, u.first)
			}
		}
	}
}

// read compares a replica's log from first to its watermark with what others have committed, and adds to that.
func (c *checker) read(w *World, p *process, id kafka.TopicIDPartition, first kafka.Offset) (next kafka.Offset) {
	part, _ := p.parts.GetByID(id)
	if part == nil {
		return first
	}
	first = min(first, kafka.Offset(len(c.committed[id]))) // a leader that was fenced could not be read
	for {
		got := part.Fetch(partition.FetchRequest{
			From: first, MaxBytes: 1 << 20, AtLeastOneBatch: true, CurrentLeaderEpoch: kafka.NoLeaderEpoch, LastFetchedEpoch: kafka.NoLeaderEpoch,
			Replica: kafka.NoNode, AllowFollower: true, Now: w.now,
		})
		data := p.bytes(got)
		if start := part.Describe().LogStart; got.Code == kafka.OffsetOutOfRange && start > first {
			first = start // records were deleted
			continue
		}
		if got.Code != kafka.None || len(data) == 0 {
			return first // fenced, or nothing more; a restart is compared as a whole at the end
		}
		for len(data) > 0 {
			var b record.Batch
			var err error
			if b, data, err = record.Next(data); err != nil {
				w.breach("committed", "broker %d: %v at %d: %v", p.h.id, id, first, err)
				return first
			}
			if b.BaseOffset() >= got.HighWatermark {
				w.breach("committed", "broker %d shows %d of %v to a reader, its watermark is %d", p.h.id, b.BaseOffset(), id, got.HighWatermark)
			}
			if !b.CheckCRC() {
				w.breach("committed", "broker %d: %v at %d: damaged batch", p.h.id, id, b.BaseOffset())
			}
			c.compare(w, p, id, b, first)
			first = b.NextOffset()
		}
	}
}

func (c *checker) compare(w *World, p *process, id kafka.TopicIDPartition, b record.Batch, first kafka.Offset) {
	it := b.Records(1 << 20)
	defer it.Close()
	for it.Next() {
		r := it.Record()
		if r.Offset < first {
			continue
		}
		what := fmt.Sprintf("%d:%s", b.LeaderEpoch(), r.Value)
		log := c.committed[id]
		for int(r.Offset) >= len(log) { // what was deleted before anybody could be asked stays unknown
			log = append(log, unknown)
		}
		c.committed[id] = log
		switch log[r.Offset] {
		case unknown:
			log[r.Offset] = what
		case what:
		default:
			w.breach("committed", "broker %d has %s at %d of %v below its watermark, %s was committed", p.h.id, what, r.Offset, id, log[r.Offset])
		}
	}
	if err := it.Err(); err != nil {
		w.breach("committed", "broker %d: records of %v: %v", p.h.id, id, err)
	}
}

// acked notes an acknowledgement.
func (c *checker) acked(w *World, p *producer, base kafka.Offset) {
	c.acks++
	if base <= p.lastBase {
		w.breach("acks", "producer %d: batch %d is acknowledged at %d, the one before at %d", p.id, p.sequence, base, p.lastBase)
	}
	p.lastBase = base
	at := c.ackedAt[p.tp]
	if at == nil {
		at = map[kafka.Offset]string{}
		c.ackedAt[p.tp] = at
	}
	for i, v := range p.values {
		o := base + kafka.Offset(i)
		if other, ok := at[o]; ok {
			w.breach("acks", "offset %d of %v is acknowledged for %s and for %s", o, p.tp, other, v)
		}
		at[o] = v
	}
}

// final reads every replica as a whole.
func (c *checker) final(w *World) {
	image := w.hosts[0].proc.image
	for _, t := range w.topics {
		topic := image.TopicByName(t.name)
		for n, s := range topic.Partitions() {
			id := kafka.TopicIDPartition{TopicID: topic.ID, Partition: n}
			for _, r := range s.Replicas {
				next := c.read(w, w.hosts[r].proc, id, 0)
				if next != kafka.Offset(len(c.committed[id])) {
					w.breach("committed", "broker %d has %v up to %d, committed is up to %d", r, id, next, len(c.committed[id]))
				}
			}
			c.history(w, kafka.TopicPartition{Topic: t.name, Partition: n}, c.committed[id])
		}
	}
}

// history checks acknowledgements and producers' sequences against the log.
func (c *checker) history(w *World, tp kafka.TopicPartition, log []string) {
	at := c.ackedAt[tp]
	for _, o := range slices.Sorted(maps.Keys(at)) {
		if int(o) >= len(log) {
			w.breach("acks", "%s, acknowledged at %d of %v, is lost: the log ends at %d", at[o], o, tp, len(log))
			return
		}
		if _, v, _ := strings.Cut(log[o], ":"); log[o] != unknown && v != at[o] {
			w.breach("acks", "%s was acknowledged at %d of %v, there is %s", at[o], o, tp, log[o])
			return
		}
	}
	next := map[string]int{}
	for o, what := range log {
		if what == unknown {
			return // numbers would seem to be missing
		}
		_, v, _ := strings.Cut(what, ":")
		id, number, _ := strings.Cut(v, "/")
		if number != fmt.Sprint(next[id]) {
			w.breach("sequences", "%v: producer %s has %s at %d, number %d should come", tp, id, number, o, next[id])
			return
		}
		next[id]++
	}
}

// describe is the state of a replica.
func (w *World) describe(n kafka.NodeID, topic string, number int32) partition.Description {
	part, _ := w.hosts[n].proc.parts.Get(kafka.TopicPartition{Topic: topic, Partition: number})
	if part == nil {
		return partition.Description{LogEnd: -1}
	}
	return part.Describe()
}

// image is the newest image that any broker follows.
func (w *World) image() *metadata.Image {
	newest := &metadata.Image{}
	for _, h := range w.hosts {
		if h.proc != nil && h.proc.image.Version() > newest.Version() {
			newest = h.proc.image
		}
	}
	return newest
}
