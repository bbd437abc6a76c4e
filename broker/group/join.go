package group

import (
	"bytes"
	"encoding/hex"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// JoinGroup, key 11, versions 0 to 9.
//
//	v0  no rebalance timeout: the session timeout stands for it. From v1 on a timeout of -1 is taken as it is: members
//	    that have not rejoined when the rebalance begins are dropped.
//	v4  a new member is given an id and must come again with it (KIP-394), so that lost answers leave no ghosts
//	v5  static members (KIP-345)
//	v7  protocol type in the answer (KIP-559)
//	v8  a reason (KIP-800); it has no effect
//	v9  a static leader that comes back is told to skip the assignment (KIP-814)
const (
	joinNeedsMemberID  = 4
	joinSkipAssignment = 9
)

// maxPendingIDs bounds the member ids of a group that were handed out and have not joined. A client that takes ids and
// never comes back is told to try later.
const maxPendingIDs = 10_000

func (m *Machine) join(now Time, t Ticket, req *kmsg.JoinGroupRequest, from Caller) {
	resp := joinResponse(req)
	refuse := func(memberID string, code kafka.ErrorCode) {
		resp.MemberID, resp.ErrorCode = memberID, int16(code)
		m.answer(t, resp)
	}
	if req.Group == "" {
		refuse(req.MemberID, kafka.InvalidGroupID)
		return
	}
	if s := millis(req.SessionTimeoutMillis); s < m.config.MinSessionTimeout || s > m.config.MaxSessionTimeout {
		refuse(req.MemberID, kafka.InvalidSessionTimeout)
		return
	}
	g := m.groups[req.Group]
	unknown := req.MemberID == ""
	switch {
	case g == nil && !unknown:
		refuse(req.MemberID, kafka.UnknownMemberID)
		return
	case g == nil:
		g = m.newGroup(req.Group)
		defer m.reap(g)
	case g.state == Dead:
		refuse(req.MemberID, kafka.CoordinatorNotAvailable)
		return
	}
	if !m.accepts(g, req.MemberID) {
		refuse("", kafka.GroupMaxSizeReached)
		m.turnAway(now, g, req.MemberID)
		return
	}
	if !g.supports(req) {
		refuse(req.MemberID, kafka.InconsistentGroupProtocol)
		return
	}
	w := &waitingJoin{t, resp}
	switch {
	case unknown && req.InstanceID != nil:
		if old := g.static(req.InstanceID); old != nil {
			m.replaceStatic(now, g, old, w, req, memberID(*req.InstanceID, from))
		} else {
			m.addMember(now, g, w, req, from, memberID(*req.InstanceID, from))
		}
	case unknown && req.Version >= joinNeedsMemberID && len(g.pending) >= maxPendingIDs:
		refuse("", kafka.CoordinatorNotAvailable)
	case unknown && req.Version >= joinNeedsMemberID:
		id := memberID(from.ClientID, from)
		m.addPending(now, g, id, millis(req.SessionTimeoutMillis))
		refuse(id, kafka.MemberIDRequired)
	case unknown:
		m.addMember(now, g, w, req, from, memberID(from.ClientID, from))
	case g.pending[req.MemberID] != nil && req.InstanceID == nil:
		m.addMember(now, g, w, req, from, req.MemberID)
	default:
		mb, code := g.check(req.MemberID, req.InstanceID)
		if code != kafka.None {
			refuse(req.MemberID, code)
			return
		}
		m.rejoin(now, g, mb, w, req)
	}
}

// rejoin is a JoinGroup of a member that the group has.
func (m *Machine) rejoin(now Time, g *group, mb *member, w *waitingJoin, req *kmsg.JoinGroupRequest) {
	switch {
	case g.state == Preparing:
	case g.state == Completing && mb.matches(req):
		// The answer to its join was lost. Tell it again.
		m.touch(now, mb)
		m.answerJoin(g, mb, w, mb.id == g.leader)
		return
	case g.state == Stable && mb.id != g.leader && mb.matches(req):
		// A follower that sends what the group knows already: the generation stands. A leader asks for a rebalance so.
		m.touch(now, mb)
		m.answerJoin(g, mb, w, false)
		return
	}
	g.update(mb, req)
	m.waitForJoin(g, mb, w)
	m.rebalanceOrComplete(now, g)
}

// addMember takes a new member into the group.
func (m *Machine) addMember(now Time, g *group, w *waitingJoin, req *kmsg.JoinGroupRequest, from Caller, id string) {
	m.clearPending(g, id)
	mb := &member{id: id, instanceID: req.InstanceID, clientID: from.ClientID, clientHost: from.ClientHost, fresh: true}
	mb.take(req)
	if len(g.members) == 0 {
		g.protocolType = req.ProtocolType
	}
	g.add(mb)
	m.waitForJoin(g, mb, w)
	m.alarms.set(&mb.session, now.Elapsed, m.config.NewMemberJoinTimeout)
	if g.state == Preparing && g.initial {
		g.grown = true
	}
	m.rebalanceOrComplete(now, g)
}

// waitForJoin keeps the member's request until the round is complete. An older one of the same member is answered:
// its client has given it up.
func (m *Machine) waitForJoin(g *group, mb *member, w *waitingJoin) {
	m.endJoin(g, mb, kafka.RebalanceInProgress)
	mb.joining = w
	g.joined++
}

// addPending remembers a member id that was handed out. Until it is used or its session is over, a rebalance of the
// group waits for it.
func (m *Machine) addPending(now Time, g *group, id string, session time.Duration) {
	if g.pending == nil {
		g.pending = map[string]*alarm{}
	}
	a := &alarm{kind: pendingAlarm, group: g, id: id}
	g.pending[id] = a
	m.alarms.set(a, now.Elapsed, session)
}

// clearPending forgets the id without a look at the rebalance.
func (m *Machine) clearPending(g *group, id string) bool {
	a := g.pending[id]
	if a == nil {
		return false
	}
	m.alarms.clear(a)
	delete(g.pending, id)
	return true
}

// dropPending forgets the id; a rebalance may be complete without it (G4).
func (m *Machine) dropPending(now Time, g *group, id string) bool {
	if !m.clearPending(g, id) {
		return false
	}
	m.maybeCompleteJoin(now, g)
	m.reap(g)
	return true
}

// turnAway drops who came too late for a place: its client gives up, so the others must not wait for it (G4).
func (m *Machine) turnAway(now Time, g *group, id string) {
	if mb := g.byID[id]; mb != nil {
		m.removeMember(g, mb)
		m.rebalanceOrComplete(now, g)
		return
	}
	m.dropPending(now, g, id)
}

// accepts tells whether the group has room for the one who joins.
func (m *Machine) accepts(g *group, id string) bool {
	mb := g.byID[id]
	switch g.state {
	case Empty:
		return true
	case Preparing:
		return mb != nil && mb.joining != nil || g.joined < m.config.MaxSize
	default:
		return mb != nil || len(g.members) < m.config.MaxSize
	}
}

// supports tells whether the request has a protocol that all members have.
func (g *group) supports(req *kmsg.JoinGroupRequest) bool {
	if len(g.members) == 0 {
		return req.ProtocolType != "" && len(req.Protocols) > 0
	}
	if req.ProtocolType != g.protocolType {
		return false
	}
	for i := range req.Protocols {
		if g.allSupport(req.Protocols[i].Name) {
			return true
		}
	}
	return false
}

// update takes over what a member of the group says of itself now.
func (g *group) update(mb *member, req *kmsg.JoinGroupRequest) {
	g.count(mb, -1)
	mb.take(req)
	g.count(mb, 1)
}

// take takes over what the member says of itself; the metadata's bytes are kept. A protocol named twice counts once.
func (mb *member) take(req *kmsg.JoinGroupRequest) {
	mb.protocols = make([]kmsg.JoinGroupRequestProtocol, 0, len(req.Protocols))
	seen := make(map[string]struct{}, len(req.Protocols))
	for _, p := range req.Protocols {
		if _, named := seen[p.Name]; !named {
			seen[p.Name] = struct{}{}
			mb.protocols = append(mb.protocols, p)
		}
	}
	mb.sessionMillis, mb.rebalanceMillis = req.SessionTimeoutMillis, req.RebalanceTimeoutMillis
	if req.Version == 0 {
		mb.rebalanceMillis = req.SessionTimeoutMillis
	}
}

func (mb *member) matches(req *kmsg.JoinGroupRequest) bool {
	if len(mb.protocols) != len(req.Protocols) {
		return false
	}
	for i := range mb.protocols {
		if mb.protocols[i].Name != req.Protocols[i].Name || !bytes.Equal(mb.protocols[i].Metadata, req.Protocols[i].Metadata) {
			return false
		}
	}
	return true
}

// memberID is prefix-uuid, as in Kafka: people find the client by it in tools and logs.
func memberID(prefix string, from Caller) string {
	u := from.NewID
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:36], u[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return prefix + "-" + string(b[:])
}

// joinResponse is a refusal to be filled in.
func joinResponse(req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.Default()
	resp.Generation = -1
	return resp
}

// answerJoin tells a member the generation. The leader also gets the members, from which it computes the assignment.
func (m *Machine) answerJoin(g *group, mb *member, w *waitingJoin, withMembers bool) {
	resp := w.resp
	resp.MemberID, resp.LeaderID, resp.Generation = mb.id, g.leader, g.generation
	resp.ProtocolType, resp.Protocol = kmsg.StringPtr(g.protocolType), kmsg.StringPtr(g.protocol)
	if withMembers {
		for _, other := range g.members {
			rm := kmsg.NewJoinGroupResponseMember()
			rm.MemberID, rm.InstanceID, rm.ProtocolMetadata = other.id, other.instanceID, other.metadata(g.protocol)
			resp.Members = append(resp.Members, rm)
		}
	}
	m.answer(w.ticket, resp)
}

// endJoin answers a join that waits with an error.
func (m *Machine) endJoin(g *group, mb *member, code kafka.ErrorCode) {
	if w := g.stopWaiting(mb); w != nil {
		m.refuseJoin(w, mb.id, code)
	}
}

func (m *Machine) refuseJoin(w *waitingJoin, memberID string, code kafka.ErrorCode) {
	w.resp.MemberID, w.resp.ErrorCode = memberID, int16(code)
	m.answer(w.ticket, w.resp)
}

// endWaits answers everything that the member waits for with an error.
func (m *Machine) endWaits(g *group, mb *member, code kafka.ErrorCode) {
	m.endJoin(g, mb, code)
	m.endSync(mb, code)
	if w := mb.returning; w != nil {
		mb.returning = nil
		m.refuseJoin(w, mb.id, code)
	}
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }
