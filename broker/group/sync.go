package group

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SyncGroup, key 14, versions 0 to 5.
//
//	v3  static members (KIP-345)
//	v5  protocol type and protocol, which must be the group's (KIP-559)
func (m *Machine) sync(now Time, t Ticket, req *kmsg.SyncGroupRequest) {
	resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
	resp.Default()
	g, mb, code := m.checkSync(req)
	if code != kafka.None {
		resp.ErrorCode = int16(code)
		m.answer(t, resp)
		return
	}
	mb.synced = true
	w := &waitingSync{t, resp}
	if g.state == Stable {
		m.touch(now, mb)
		m.answerSync(g, mb, w)
		return
	}
	m.endSync(mb, kafka.RebalanceInProgress) // its client has given it up
	mb.syncing = w
	if mb.id == g.leader && !g.saving {
		m.saveAssignment(now, g, req.GroupAssignment)
	}
}

func (m *Machine) checkSync(req *kmsg.SyncGroupRequest) (*group, *member, kafka.ErrorCode) {
	if req.Group == "" {
		return nil, nil, kafka.InvalidGroupID
	}
	g := m.groups[req.Group]
	switch {
	case g == nil:
		return nil, nil, kafka.UnknownMemberID
	case g.state == Dead:
		return nil, nil, kafka.CoordinatorNotAvailable
	}
	mb, code := g.check(req.MemberID, req.InstanceID)
	switch {
	case code != kafka.None:
		return nil, nil, code
	case req.Generation != g.generation:
		return nil, nil, kafka.IllegalGeneration
	case req.ProtocolType != nil && *req.ProtocolType != g.protocolType, req.Protocol != nil && *req.Protocol != g.protocol:
		return nil, nil, kafka.InconsistentGroupProtocol
	case g.state == Preparing:
		return nil, nil, kafka.RebalanceInProgress
	case g.state == Empty:
		return nil, nil, kafka.UnknownMemberID
	}
	return g, mb, kafka.None
}

// saveAssignment makes the leader's assignment durable, then gives every member its part. A member without one gets an
// empty part; parts for others than members are dropped.
func (m *Machine) saveAssignment(now Time, g *group, parts []kmsg.SyncGroupRequestGroupAssignment) {
	assignments := make(map[string][]byte, len(parts))
	for i := range parts {
		assignments[parts[i].MemberID] = parts[i].MemberAssignment
	}
	generation := g.generation
	g.saving = true
	m.append(g, []Record{g.record(assignments)}, func(now Time, code kafka.ErrorCode) {
		if g.state != Completing || g.generation != generation {
			return // another rebalance has begun; the members know
		}
		g.saving = false
		if code != kafka.None {
			for _, mb := range g.members {
				m.endSync(mb, code)
			}
			m.prepareRebalance(now, g)
			return
		}
		since := g.since // as in the record
		g.become(now, Stable)
		g.since = since
		for _, mb := range g.members {
			mb.assignment = assignments[mb.id]
			if w := mb.syncing; w != nil {
				mb.syncing = nil
				m.touch(now, mb)
				m.answerSync(g, mb, w)
			}
		}
	})
}

func (m *Machine) answerSync(g *group, mb *member, w *waitingSync) {
	w.resp.ProtocolType, w.resp.Protocol = kmsg.StringPtr(g.protocolType), kmsg.StringPtr(g.protocol)
	w.resp.MemberAssignment = mb.assignment
	m.answer(w.ticket, w.resp)
}

// endSync answers a sync that waits with an error.
func (m *Machine) endSync(mb *member, code kafka.ErrorCode) {
	w := mb.syncing
	if w == nil {
		return
	}
	mb.syncing = nil
	w.resp.ErrorCode = int16(code)
	m.answer(w.ticket, w.resp)
}
