package replica

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
)

// world is one partition on a few brokers with a controller, a network that delays, loses and repeats, and processes
// that crash: the smallest thing in which the rules of replication can be broken. It looks at the machines only through
// their events and effects. Every choice comes from the seed.
type world struct {
	rnd   *rand.Rand
	rules Rules
	now   kafka.Elapsed
	nodes []*node

	// The controller.
	state  state
	epochs map[kafka.NodeID]kafka.BrokerEpoch
	fenced map[kafka.NodeID]bool
	minISR int

	net      []func()
	ticket   uint64
	steps    int
	waiting  map[uint64]waitingProduce
	acked    map[kafka.Offset]int // offset to value
	failures []string
	trace    []string
}

type state struct {
	leader kafka.NodeID
	le     kafka.LeaderEpoch
	pe     kafka.PartitionEpoch
	isr    []kafka.NodeID
}

type waitingProduce struct {
	node   kafka.NodeID
	life   int
	offset kafka.Offset
	value  int
}

type entry struct {
	epoch kafka.LeaderEpoch
	value int
}

type node struct {
	w       *world
	id      kafka.NodeID
	up      bool
	life    int // counts restarts: what was sent in an earlier life is not for this one
	m       *Machine
	log     []entry // offset = index + start
	start   kafka.Offset
	history leaderepoch.History
	hw      kafka.Offset // as published
	hwSaved kafka.Offset // checkpoint
	images  []state      // not yet applied
	asking  bool
	askedAt kafka.Elapsed
}

func newWorld(seed int64, n int, rules Rules) *world {
	w := &world{
		rnd: rand.New(rand.NewSource(seed)), rules: rules, minISR: 2,
		epochs: map[kafka.NodeID]kafka.BrokerEpoch{}, fenced: map[kafka.NodeID]bool{},
		waiting: map[uint64]waitingProduce{}, acked: map[kafka.Offset]int{},
		state: state{leader: 0, le: 0, pe: 0},
	}
	for i := range n {
		id := kafka.NodeID(i)
		w.state.isr = append(w.state.isr, id)
		w.epochs[id] = kafka.BrokerEpoch(i)
		nd := &node{w: w, id: id}
		w.nodes = append(w.nodes, nd)
		nd.boot()
	}
	return w
}

func (w *world) replicas() (ids []kafka.NodeID) {
	for _, n := range w.nodes {
		ids = append(ids, n.id)
	}
	return ids
}

func (w *world) fail(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func (w *world) logf(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (n *node) boot() {
	n.up, n.asking = true, false
	n.life++
	n.m = New(n.id, n.w.rules, Settings{MinISR: n.w.minISR, LagMax: 20 * time.Millisecond, AlterRetry: 3 * time.Millisecond},
		Log{Start: n.start, End: n.end(), Watermark: n.hwSaved})
	n.hw = n.m.HighWatermark()
	n.images = []state{n.w.state}
}

func (n *node) end() kafka.Offset { return n.start + kafka.Offset(len(n.log)) }

// facts is what the controller knows; images carry no brokers here, which is one more way to be stale or fresh.
func (w *world) facts(id kafka.NodeID) BrokerFacts {
	return BrokerFacts{Epoch: w.epochs[id], Alive: !w.fenced[id], Eligible: !w.fenced[id]}
}

// carryOut does the effects in the documented order.
func (n *node) carryOut() {
	w := n.w
	r := n.m.Ready(w.now)
	if r.EarlyWatermark != kafka.NoOffset {
		n.publish(r.EarlyWatermark, false)
	}
	if t := r.Truncate; t != nil {
		if t.Full {
			n.log, n.start = nil, t.To
			n.history.Clear()
		} else {
			n.log = n.log[:max(0, min(int(t.To-n.start), len(n.log)))]
			n.history.TruncateFromEnd(t.To)
		}
		w.logf("%d truncates to %d full=%v", n.id, t.To, t.Full)
	}
	if r.AdvanceStart != kafka.NoOffset {
		n.advanceStart(r.AdvanceStart)
	}
	if r.StartEpoch {
		n.history.Assign(n.m.LeaderEpoch(), n.end())
		w.logf("%d leads epoch %d from %d, hw %d", n.id, n.m.LeaderEpoch(), n.end(), n.m.HighWatermark())
	}
	if r.Watermark {
		n.publish(n.m.HighWatermark(), r.Truncate != nil && r.Truncate.Full)
	}
	if r.Alter != nil {
		n.sendAlter(*r.Alter)
	}
	for _, c := range r.Completed {
		p := w.waiting[c.Ticket]
		delete(w.waiting, c.Ticket)
		if c.Code == kafka.None {
			if old, ok := w.acked[p.offset]; ok && old != p.value {
				w.fail("offset %d acknowledged as %d and as %d", p.offset, old, p.value)
			}
			w.acked[p.offset] = p.value
			w.logf("ack %d = %d by %d", p.offset, p.value, n.id)
		}
	}
}

func (n *node) advanceStart(to kafka.Offset) {
	n.log = n.log[to-n.start:]
	n.start = to
	n.history.TruncateFromStart(to)
}

func (n *node) publish(hw kafka.Offset, over bool) {
	if hw < n.hw && !over {
		n.w.fail("watermark of %d went back from %d to %d", n.id, n.hw, hw)
	}
	if hw > n.end() {
		n.w.fail("watermark %d of %d is above its log end %d", hw, n.id, n.end())
	}
	n.hw = hw
}

// send delivers f later, never, or (when it may) twice.
func (w *world) send(f func()) {
	if w.rnd.Intn(20) == 0 {
		return
	}
	w.net = append(w.net, f)
}

func (n *node) produce() {
	w := n.w
	if !n.up || n.m.Admit(true) != kafka.None {
		return
	}
	value := w.rnd.Int()
	offset := n.end()
	n.log = append(n.log, entry{n.m.LeaderEpoch(), value})
	n.history.Assign(n.m.LeaderEpoch(), offset)
	n.m.StepAppended(n.end(), w.now)
	w.ticket++
	w.waiting[w.ticket] = waitingProduce{n.id, n.life, offset, value}
	n.m.Wait(w.ticket, n.end(), true, w.now.Add(50*time.Millisecond))
	n.carryOut()
}

// ask is a follower's fetch.
func (n *node) ask() {
	w := n.w
	pos, ok := n.m.FetchPosition(&n.history)
	if !n.up || !ok || n.asking && w.now.Sub(n.askedAt) < 15*time.Millisecond {
		return
	}
	n.asking, n.askedAt = true, w.now
	life, epoch := n.life, w.epochs[n.id]
	if w.rnd.Intn(10) == 0 {
		epoch = kafka.NoBrokerEpoch
	}
	leader := w.nodes[n.m.Leader()]
	w.send(func() { leader.answer(n, life, pos, epoch) })
}

func (n *node) answer(f *node, life int, pos FetchPosition, epoch kafka.BrokerEpoch) {
	w := n.w
	if !n.up || n.m.Role() != Leader || n.m.CheckEpoch(pos.LeaderEpoch) != kafka.None {
		w.send(func() { f.asking = f.asking && f.life != life })
		return
	}
	deliver := func(take func()) {
		w.send(func() {
			if f.up && f.life == life {
				f.asking = false
				if f.m.Follows(pos.LeaderEpoch) {
					take()
					f.carryOut()
				}
			}
		})
	}
	hw := n.m.HighWatermark()
	if pos.LastEpoch != kafka.NoLeaderEpoch {
		e, end, ok := n.history.EndOffsetFor(pos.LastEpoch, n.end())
		if ok && (e < pos.LastEpoch || end < pos.From) {
			deliver(func() {
				f.m.StepDiverged(Diverged{Asked: pos, Epoch: e, End: end, LeaderWatermark: hw}, &f.history)
			})
			return
		}
	}
	if pos.From < n.start || pos.From > n.end() {
		start := n.start
		deliver(func() { f.m.StepOutOfRange(OutOfRange{Asked: pos, LeaderStart: start}) })
		return
	}
	if n.m.StepFetched(Fetched{Replica: f.id, Epoch: epoch, Start: pos.LogStart, End: pos.From, Now: w.now}) != kafka.None {
		return
	}
	n.carryOut()
	hw = n.m.HighWatermark()
	batch := slices.Clone(n.log[pos.From-n.start:])
	batch = batch[:min(len(batch), 1+w.rnd.Intn(5))]
	start := n.start
	late := w.rnd.Intn(len(batch) + 1) // these are read from the file when they are sent, whatever is there by then
	deliver(func() {
		for i := late; i < len(batch); i++ {
			if at := int(pos.From-n.start) + i; at >= 0 && at < len(n.log) {
				batch[i] = n.log[at]
			}
		}
		if f.end() != pos.From {
			return // a late answer: the host's check that offsets continue the log
		}
		for _, e := range batch {
			if !f.m.AcceptsEpoch(e.epoch) {
				break
			}
			f.history.Assign(e.epoch, f.end())
			f.log = append(f.log, e)
		}
		f.m.StepReplicated(Replicated{End: f.end(), LeaderStart: start, LeaderWatermark: hw, Empty: len(batch) == 0})
	})
}
