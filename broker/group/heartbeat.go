package group

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Heartbeat, key 12, versions 0 to 4. A member of a group that gathers members is told to join (27).
func (m *Machine) heartbeat(now Time, t Ticket, req *kmsg.HeartbeatRequest) {
	resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
	resp.ErrorCode = int16(m.beat(now, req))
	m.answer(t, resp)
}

func (m *Machine) beat(now Time, req *kmsg.HeartbeatRequest) kafka.ErrorCode {
	if req.Group == "" {
		return kafka.InvalidGroupID
	}
	g := m.groups[req.Group]
	switch {
	case g == nil:
		return kafka.UnknownMemberID
	case g.state == Dead:
		return kafka.CoordinatorNotAvailable
	}
	mb, code := g.check(req.MemberID, req.InstanceID)
	switch {
	case code != kafka.None:
		return code
	case req.Generation != g.generation:
		return kafka.IllegalGeneration
	case !mb.fresh:
		m.touch(now, mb)
	}
	if g.state == Preparing {
		return kafka.RebalanceInProgress
	}
	return kafka.None
}
