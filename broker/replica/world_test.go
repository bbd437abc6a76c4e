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

func (n *node) sendAlter(a Alter) {
	w, life := n.w, n.life
	back := func(r Altered) {
		if w.rnd.Intn(20) == 0 { // lost: the host says so
			r = Altered{Ticket: a.Ticket, Code: kafka.RequestTimedOut}
		}
		w.net = append(w.net, func() {
			if n.up && n.life == life {
				r.Now = w.now
				n.m.StepAltered(r)
				n.carryOut()
			}
		})
	}
	w.net = append(w.net, func() {
		back(w.alter(n.id, a))
	})
}

// alter is the controller's side of AlterPartition, in Kafka's order of checks.
func (w *world) alter(from kafka.NodeID, a Alter) Altered {
	r := Altered{Ticket: a.Ticket}
	s := &w.state
	switch {
	case w.rnd.Intn(15) == 0:
		r.Code = kafka.NotController
	case a.LeaderEpoch != s.le || from != s.leader:
		r.Code = kafka.FencedLeaderEpoch
	case a.PartitionEpoch != s.pe:
		r.Code = kafka.InvalidUpdateVersion
	default:
		isr := []kafka.NodeID{}
		for _, m := range a.ISR {
			if w.rules.FenceBrokerEpoch && (w.fenced[m.ID] || m.Epoch != kafka.NoBrokerEpoch && m.Epoch != w.epochs[m.ID]) {
				r.Code = kafka.IneligibleReplica
				return r
			}
			isr = append(isr, m.ID)
		}
		s.isr, s.pe = isr, s.pe+1
		w.publish()
		w.logf("isr %v pe %d", isr, s.pe)
		r.Leader, r.LeaderEpoch, r.PartitionEpoch, r.ISR = s.leader, s.le, s.pe, isr
	}
	return r
}

// publish queues the state for every node.
func (w *world) publish() {
	w.state.isr = slices.Clone(w.state.isr)
	for _, n := range w.nodes {
		n.images = append(n.images, w.state)
	}
}

func (n *node) applyImage() {
	if !n.up || len(n.images) == 0 {
		return
	}
	s := n.images[0]
	n.images = n.images[1:]
	n.m.StepAssign(Assignment{
		Leader: s.leader, LeaderEpoch: s.le, PartitionEpoch: s.pe, Replicas: n.w.replicas(), ISR: s.isr,
		Brokers: n.w.facts, Now: n.w.now,
	})
	if n.m.Role() == Follower {
		n.asking = false
	}
	n.carryOut()
	for _, other := range n.w.nodes {
		n.m.StepBroker(other.id, n.w.facts(other.id), n.w.now)
	}
	n.carryOut()
}

// crash kills the process; lost is how many records at the log's end were not on the disk.
func (n *node) crash(lost int) {
	n.up = false
	keep := max(0, len(n.log)-lost)
	n.log = n.log[:keep]
	n.history.TruncateFromEnd(n.end())
	n.hwSaved = min(n.hw-kafka.Offset(n.w.rnd.Intn(4)), n.end())
	n.w.logf("%d crashes with end %d, saved hw %d", n.id, n.end(), n.hwSaved)
	for t, p := range n.w.waiting {
		if p.node == n.id {
			delete(n.w.waiting, t)
		}
	}
}

// fence makes the controller take a broker for dead.
func (w *world) fence(id kafka.NodeID) {
	if w.fenced[id] {
		return
	}
	w.fenced[id] = true
	w.logf("fence %d", id)
	w.leave(id)
}

// leave removes a broker from the ISR unless it is the last, and elects if it led.
func (w *world) leave(id kafka.NodeID) {
	s := &w.state
	if i := slices.Index(s.isr, id); i >= 0 && len(s.isr) > 1 {
		s.isr = slices.Delete(slices.Clone(s.isr), i, i+1)
	}
	w.elect()
}

func (w *world) elect() {
	s := &w.state
	if s.leader != kafka.NoNode && !w.fenced[s.leader] && slices.Contains(s.isr, s.leader) && w.rnd.Intn(8) != 0 {
		s.pe++
		w.publish()
		return
	}
	s.leader = kafka.NoNode
	for _, i := range w.rnd.Perm(len(s.isr)) {
		if !w.fenced[s.isr[i]] {
			s.leader = s.isr[i]
			break
		}
	}
	s.le, s.pe = s.le+1, s.pe+1
	w.logf("elect %d epoch %d isr %v", s.leader, s.le, s.isr)
	w.publish()
}

// restart registers anew. A disk that lost records, or nothing but a crash, is an unclean stop: out of the ISR.
func (n *node) restart() {
	w := n.w
	w.epochs[n.id] = kafka.BrokerEpoch(100+w.rnd.Intn(3)) + w.epochs[n.id]
	w.fenced[n.id] = false
	w.logf("%d is back with end %d", n.id, n.end())
	w.leave(n.id)
	n.boot()
}

// step does one random thing.
func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.rnd.Intn(1000)) * time.Microsecond)
	n := w.nodes[w.rnd.Intn(len(w.nodes))]
	switch x := w.rnd.Intn(2000); {
	case x < 250:
		n.produce()
	case x < 750:
		n.ask()
	case x < 1500:
		w.deliver()
	case x < 1750:
		n.applyImage()
	case x < 1965:
		if n.up {
			n.m.StepTick(w.now)
			n.carryOut()
		}
	case x < 1970:
		w.fence(n.id) // perhaps wrongly
	case x < 1980:
		if n.up {
			// Loss of what the last in-sync replica has is loss, by any rules. Of others it is noticed at once here.
			if slices.Equal(w.state.isr, []kafka.NodeID{n.id}) || w.rnd.Intn(2) == 0 {
				n.crash(0)
			} else {
				w.fence(n.id)
				w.leave(n.id)
				n.crash(w.rnd.Intn(4))
			}
		}
	case x < 1983: // DeleteRecords
		if n.up && n.m.Role() == Leader && n.hw > n.start {
			n.advanceStart(n.start + kafka.Offset(w.rnd.Intn(int(n.hw-n.start)+1)))
			n.m.StepStart(n.start)
			n.carryOut()
		}
	case x < 1985: // a disk is replaced
		if !n.up && !slices.Contains(w.state.isr, n.id) {
			w.fence(n.id)
			n.log, n.start, n.hwSaved = nil, 0, 0
			n.history.Clear()
			w.logf("%d has a new disk", n.id)
		}
	case x < 1995:
		if !n.up {
			w.fence(n.id)
			n.restart()
		} else if w.fenced[n.id] {
			w.fenced[n.id] = false
			if w.state.leader == kafka.NoNode {
				w.elect()
			}
		}
	default:
		w.elect()
	}
	if w.steps++; w.steps%4 == 0 {
		w.check()
	}
}

// deliver takes a message out of the net, any of them: later ones overtake.
func (w *world) deliver() {
	if len(w.net) == 0 {
		return
	}
	i := w.rnd.Intn(min(len(w.net), 6))
	f := w.net[i]
	if w.rnd.Intn(30) != 0 { // else it comes again
		w.net = slices.Delete(w.net, i, i+1)
	}
	f()
}

// check looks at what must always hold.
func (w *world) check() {
	for _, n := range w.nodes {
		if n.up && n.hw < n.start {
			w.fail("watermark %d of %d is below its log start %d", n.hw, n.id, n.start)
		}
		if n.up && n.m.LogEnd() != n.end() {
			w.fail("machine of %d thinks its log ends at %d, not %d", n.id, n.m.LogEnd(), n.end())
		}
		for _, o := range w.nodes[n.id+1:] {
			// Logs agree below both watermarks.
			for off := max(n.start, o.start); off < min(n.hw, o.hw, n.end(), o.end()); off++ {
				if n.log[off-n.start] != o.log[off-o.start] {
					w.fail("offset %d is %v on %d and %v on %d, below both watermarks", off, n.log[off-n.start], n.id, o.log[off-o.start], o.id)
				}
			}
		}
	}
	// What was acknowledged is in the log of every member of the ISR.
	for _, id := range w.state.isr {
		n := w.nodes[id]
		for off, v := range w.acked {
			if off >= n.end() || off >= n.start && n.log[off-n.start].value != v {
				w.fail("acknowledged offset %d is missing on %d, which is in the ISR", off, id)
			}
		}
	}
}

// heal lets everything recover and demands that all replicas agree.
func (w *world) heal() {
	for _, n := range w.nodes {
		if !n.up {
			w.fence(n.id)
			n.restart()
		}
		w.fenced[n.id] = false
	}
	if w.state.leader == kafka.NoNode {
		w.elect()
	}
	w.publish() // everybody hears who is alive
	for range 400 {
		w.now = w.now.Add(time.Millisecond)
		for _, n := range w.nodes {
			for len(n.images) > 0 {
				n.applyImage()
			}
			n.ask()
			n.m.StepTick(w.now)
			n.carryOut()
		}
		for range 10 {
			w.deliver()
		}
	}
	leader := w.nodes[w.state.leader]
	for _, n := range w.nodes {
		if n.end() != leader.end() || n.hw != leader.hw || n.hw != n.end() {
			w.fail("after healing %d has [%d, %d) hw %d, the leader %d [%d, %d) hw %d", n.id, n.start, n.end(), n.hw, leader.id, leader.start, leader.end(), leader.hw)
		}
	}
	if len(w.state.isr) != len(w.nodes) {
		w.fail("after healing the ISR is %v", w.state.isr)
	}
	w.check()
}
