package group

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// replaceStatic lets a static member come back without its old member id, after a restart for example (KIP-345). The old
// id is fenced from now on.
//
//	Stable       the assignment stands: the new id is made durable and answered; no rebalance, unless the choice of
//	             protocol would change
//	Preparing    the member joins the round
//	Completing   the leader may know the old id: a new round
func (m *Machine) replaceStatic(now Time, g *group, mb *member, w *waitingJoin, req *kmsg.JoinGroupRequest, id string) {
	oldLeader := g.leader
	m.endWaits(g, mb, kafka.FencedInstanceID)
	delete(g.byID, mb.id)
	if g.leader == mb.id {
		g.leader = id
	}
	mb.id, mb.fresh = id, false
	g.byID[id] = mb
	g.update(mb, req)
	m.touch(now, mb)

	if g.state != Stable || g.chooseProtocol() != g.protocol {
		m.waitForJoin(g, mb, w)
		m.rebalanceOrComplete(now, g)
		return
	}
	mb.returning = w
	m.append(g, []Record{g.record(nil)}, func(now Time, code kafka.ErrorCode) {
		if mb.returning != w {
			return // a rebalance took it over, or it was fenced or removed meanwhile
		}
		mb.returning = nil
		if code != kafka.None {
			// The member keeps its new id here. Its client comes again, without an id, and replaces it once more.
			m.refuseJoin(w, "", code)
			return
		}
		m.touch(now, mb)
		leads := g.leader == mb.id
		if req.Version >= joinSkipAssignment {
			w.resp.SkipAssignment = leads
			m.answerJoin(g, mb, w, leads)
			return
		}
		// An old client that is told that it leads would assign, and its SyncGroup would change nothing. Name the
		// leader before instead: it syncs as a follower and gets the assignment that stands.
		m.answerJoin(g, mb, w, false)
		w.resp.LeaderID = oldLeader
	})
}
