package group

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LeaveGroup, key 13, versions 0 to 5.
//
//	v3  several members, also by instance id alone (an administrator removes static members, KIP-345)
//	v5  a reason (KIP-800); it has no effect
//
// If the group is empty then, the answer waits until that is durable: offsets expire from there on.
func (m *Machine) leave(now Time, t Ticket, req *kmsg.LeaveGroupRequest) {
	const severalMembers = 3
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	if req.Group == "" {
		resp.ErrorCode = int16(kafka.InvalidGroupID)
		m.answer(t, resp)
		return
	}
	g := m.groups[req.Group]
	if g != nil && g.state == Dead {
		resp.ErrorCode = int16(kafka.CoordinatorNotAvailable)
		m.answer(t, resp)
		return
	}
	members := req.Members
	if req.Version < severalMembers {
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID = req.MemberID
		members = []kmsg.LeaveGroupRequestMember{one}
	}
	gone := map[*member]bool{}
	unused := false
	for i := range members {
		rm := kmsg.NewLeaveGroupResponseMember()
		rm.MemberID, rm.InstanceID = members[i].MemberID, members[i].InstanceID
		code := kafka.UnknownMemberID
		if g != nil {
			if g.pending[rm.MemberID] != nil && rm.InstanceID == nil {
				unused, code = m.clearPending(g, rm.MemberID), kafka.None
			} else if mb, c := g.leaving(rm.MemberID, rm.InstanceID); c == kafka.None && !gone[mb] {
				gone[mb], code = true, kafka.None
			} else if c != kafka.None {
				code = c
			}
		}
		rm.ErrorCode = int16(code)
		resp.Members = append(resp.Members, rm)
	}
	if req.Version < severalMembers {
		resp.ErrorCode, resp.Members = resp.Members[0].ErrorCode, nil
	}
	var wait *inflight
	if g != nil {
		wait = m.removeLeavers(now, g, gone, unused)
	}
	wait.after(now, func(_ Time, code kafka.ErrorCode) {
		if code != kafka.None {
			resp.ErrorCode, resp.Members = int16(code), nil
		}
		m.answer(t, resp)
	})
}

// leaving finds who leaves: by member id, or by instance id alone.
func (g *group) leaving(id string, instanceID *string) (*member, kafka.ErrorCode) {
	if id == "" {
		if mb := g.static(instanceID); mb != nil {
			return mb, kafka.None
		}
		return nil, kafka.UnknownMemberID
	}
	return g.check(id, instanceID)
}

func (m *Machine) removeLeavers(now Time, g *group, gone map[*member]bool, unused bool) *inflight {
	if len(gone) > 0 {
		m.removeMembers(g, func(mb *member) bool { return gone[mb] })
		return m.rebalanceOrComplete(now, g)
	}
	if unused { // G4
		wait := m.maybeCompleteJoin(now, g)
		m.reap(g)
		return wait
	}
	return nil
}
