package replica

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

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
