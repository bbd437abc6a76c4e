package group

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rebalanceOrComplete begins a rebalance if none is gathering members, else looks whether all have come.
// The append that an answer to who left should wait for is returned, nil if there is none.
func (m *Machine) rebalanceOrComplete(now Time, g *group) *inflight {
	if g.state == Preparing {
		return m.maybeCompleteJoin(now, g)
	}
	return m.prepareRebalance(now, g)
}

// prepareRebalance makes every member join again.
//
// From Empty the first generation waits for the initial delay, so that a fleet that starts together gets one
// assignment, not one per member. Otherwise it waits for all members, at most for the longest rebalance timeout.
func (m *Machine) prepareRebalance(now Time, g *group) *inflight {
	for _, mb := range g.members {
		if g.state == Completing {
			m.endSync(mb, kafka.RebalanceInProgress)
			mb.assignment = nil
		}
		if w := mb.returning; w != nil {
			mb.returning = nil
			m.waitForJoin(g, mb, w)
		}
	}
	m.alarms.clear(&g.rebalance)
	g.saving = false
	g.initial = g.state == Empty
	g.become(now, Preparing)
	if g.initial {
		delay := m.config.InitialRebalanceDelay
		g.grown = false
		g.delayLeft = kafka.Elapsed(max(g.rebalanceTimeout()-delay, 0))
		m.setRebalance(now, g, delayAlarm, delay)
		return nil
	}
	m.setRebalance(now, g, joinAlarm, g.rebalanceTimeout())
	return m.maybeCompleteJoin(now, g)
}

func (m *Machine) setRebalance(now Time, g *group, kind alarmKind, d time.Duration) {
	g.rebalance.kind = kind
	m.alarms.set(&g.rebalance, now.Elapsed, d)
}

// extendDelay is the end of one initial delay: another one begins if members have come meanwhile and the longest
// rebalance timeout is not used up.
func (m *Machine) extendDelay(now Time, g *group) {
	if !g.grown || g.delayLeft <= 0 {
		m.completeJoin(now, g)
		return
	}
	g.grown = false
	delay := min(m.config.InitialRebalanceDelay, time.Duration(g.delayLeft))
	g.delayLeft -= kafka.Elapsed(delay)
	m.setRebalance(now, g, delayAlarm, delay)
}

// maybeCompleteJoin ends the gathering if nobody is missing. It is called whenever a member or a handed-out id comes or
// goes (G4). It gives the append that the answer to who left should wait for, nil if none.
func (m *Machine) maybeCompleteJoin(now Time, g *group) *inflight {
	if g.state != Preparing || g.initial || len(g.pending) > 0 || g.joined < len(g.members) {
		return nil
	}
	return m.completeJoin(now, g)
}

// completeJoin begins the next generation with the members that have joined. Dynamic members that have not are
// dropped; static ones stay until their session is over.
func (m *Machine) completeJoin(now Time, g *group) *inflight {
	m.removeMembers(g, func(mb *member) bool { return mb.joining == nil && mb.instanceID == nil })
	if len(g.members) > 0 && !g.electLeader() {
		// Only static members are left and none has come. Their sessions end this.
		g.initial = false
		m.setRebalance(now, g, joinAlarm, max(g.rebalanceTimeout(), minRetry))
		return nil
	}
	m.alarms.clear(&g.rebalance)
	g.initial = false
	g.generation++
	if len(g.members) == 0 {
		return m.becomeEmpty(now, g)
	}
	g.protocol = g.chooseProtocol()
	g.become(now, Completing)
	g.computeTopics()
	for _, mb := range g.members {
		mb.synced = false
		if w := g.stopWaiting(mb); w != nil {
			mb.fresh = false
			m.touch(now, mb)
			m.answerJoin(g, mb, w, mb.id == g.leader)
		}
	}
	m.setRebalance(now, g, syncAlarm, g.rebalanceTimeout())
	return nil
}

// minRetry keeps a group of silent static members with a rebalance timeout of 0 or -1 from spinning.
const minRetry = time.Second

// becomeEmpty notes in the log that nobody is left: retention of the offsets counts from now.
func (m *Machine) becomeEmpty(now Time, g *group) *inflight {
	g.protocol, g.leader = "", ""
	g.become(now, Empty)
	g.computeTopics()
	return m.append(g, []Record{g.record(nil)}, nil)
}

// removeMembers takes out the members that which says and answers what they wait for. It tells whether there were any;
// the caller then looks at the rebalance (G4).
func (m *Machine) removeMembers(g *group, which func(*member) bool) (removed bool) {
	kept := g.members[:0]
	for _, mb := range g.members {
		if !which(mb) {
			kept = append(kept, mb)
			continue
		}
		removed = true
		m.endWaits(g, mb, kafka.UnknownMemberID)
		m.alarms.clear(&mb.session)
		g.count(mb, -1)
		delete(g.byID, mb.id)
		if mb.instanceID != nil {
			delete(g.byStatic, *mb.instanceID)
		}
	}
	clear(g.members[len(kept):])
	g.members = kept
	if removed && g.byID[g.leader] == nil {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
	return removed
}

func (m *Machine) removeMember(g *group, mb *member) {
	m.removeMembers(g, func(other *member) bool { return other == mb })
}

// electLeader keeps the leader if it has joined, else takes the first that has. False: nobody has.
func (g *group) electLeader() bool {
	if mb := g.byID[g.leader]; mb != nil && mb.joining != nil {
		return true
	}
	for _, mb := range g.members {
		if mb.joining != nil {
			g.leader = mb.id
			return true
		}
	}
	return false
}

// chooseProtocol lets each member vote for the first protocol of its list that all members have. The most votes win;
// a tie goes to the one that was voted for first, in order of joining.
func (g *group) chooseProtocol() string {
	votes := map[string]int{}
	best := ""
	for _, mb := range g.members {
		for i := range mb.protocols {
			if name := mb.protocols[i].Name; g.allSupport(name) {
				votes[name]++
				break
			}
		}
	}
	for _, mb := range g.members {
		for i := range mb.protocols {
			if name := mb.protocols[i].Name; votes[name] > votes[best] {
				best = name
			}
		}
	}
	return best
}

func (g *group) rebalanceTimeout() time.Duration {
	longest := time.Duration(-1)
	for _, mb := range g.members {
		longest = max(longest, millis(mb.rebalanceMillis))
	}
	return longest
}

// computeTopics reads what the members subscribe to. Unknown if a member's metadata is not a consumer's.
func (g *group) computeTopics() {
	g.topics = nil
	if g.protocolType != consumerProtocol {
		return
	}
	topics := map[string]bool{}
	for _, mb := range g.members {
		meta := kmsg.NewConsumerMemberMetadata()
		if err := meta.ReadFrom(mb.metadata(g.protocol)); err != nil {
			return
		}
		for _, t := range meta.Topics {
			topics[t] = true
		}
	}
	g.topics = topics
}

// touch begins a member's session anew.
func (m *Machine) touch(now Time, mb *member) {
	m.alarms.set(&mb.session, now.Elapsed, millis(mb.sessionMillis))
}

// lateness is how late a session's end may be noticed and still count as the member's fault.
const lateness = time.Second

// fire is a deadline that has passed.
func (m *Machine) fire(now Time, a *alarm) {
	g := a.group
	switch a.kind {
	case pendingAlarm:
		m.dropPending(now, g, a.id)
	case sessionAlarm:
		if late := time.Duration(now.Elapsed - a.at); late >= lateness {
			// The owner was held up, so heartbeats are waiting to be heard: do not throw out a whole fleet for that.
			m.alarms.set(a, now.Elapsed, min(late, millis(a.member.sessionMillis)))
			return
		}
		m.expireSession(now, g, a.member)
	case delayAlarm:
		m.extendDelay(now, g)
	case joinAlarm:
		m.completeJoin(now, g)
	case syncAlarm:
		m.expireSync(now, g)
	}
}

// expireSession removes a silent member. Who waits for the group cannot heartbeat and is not silent; only a member
// whose first join waits too long goes.
func (m *Machine) expireSession(now Time, g *group, mb *member) {
	if !mb.fresh && (mb.joining != nil || mb.syncing != nil || mb.returning != nil) {
		m.touch(now, mb)
		return
	}
	m.removeMember(g, mb)
	m.rebalanceOrComplete(now, g)
}

// expireSync removes the members that were told the generation and never asked for their assignment.
func (m *Machine) expireSync(now Time, g *group) {
	if m.removeMembers(g, func(mb *member) bool { return !mb.synced }) {
		m.rebalanceOrComplete(now, g)
	}
}
