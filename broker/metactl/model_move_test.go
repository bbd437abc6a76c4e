package metactl

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// minInSync is the in-sync replicas that a commit needs: of those that were there before a running move.
func (m *model) minInSync(p *metadata.Partition) int {
	return max(1, min(m.minISR, len(p.Replicas)-len(p.Adding)))
}

// move wishes for random replicas, or cancels a move.
func (m *model) move() {
	_, p := m.partition()
	moving, known := p.Moving(), len(p.ISR)+len(p.ELR)+len(p.LastKnownELR) > 0
	var wish []kafka.NodeID
	req := moveRequest("t", 0, nil)
	if m.rnd.IntN(4) > 0 {
		for _, n := range m.rnd.Perm(len(m.brokers))[:1+m.rnd.IntN(3)] {
			wish = append(wish, kafka.NodeID(n))
		}
		req.Topics[0].Partitions[0].Replicas = ids(wish)
	}
	req.AllowReplicationFactorChange = true
	if !moving {
		m.original = p.Replicas
	}
	code := kafka.ErrorCode(decide[*kmsg.AlterPartitionAssignmentsResponse](m.world, req).Topics[0].Partitions[0].ErrorCode)
	if code == kafka.None {
		m.wish = wish
	}
	m.noteState("move to %v: %v", wish, code)
	_, p = m.partition()
	if known && len(p.ISR)+len(p.ELR)+len(p.LastKnownELR) == 0 {
		m.fail("it is forgotten who has the records: %s", describePartition(p))
	}
	switch {
	case wish != nil && code != kafka.None:
		m.fail("a move to %v is refused: %v", wish, code)
	case wish == nil && code == kafka.None:
		m.wish = p.Replicas
		if !sameNodes(p.Replicas, m.original) {
			m.fail("a cancel leaves replicas %v; before the move they were %v", p.Replicas, m.original)
		}
	case wish == nil && moving && code == kafka.NoReassignmentInProgress || !moving && wish == nil && code != kafka.NoReassignmentInProgress:
		m.fail("a cancel gives %v; moving is %v", code, moving)
	}
}

// trackMove holds a change against what moves may do.
func (m *model) trackMove(before, after *metadata.Partition) {
	for _, n := range before.Replicas {
		if !after.HasReplica(n) && after.LeaderEpoch == before.LeaderEpoch {
			m.fail("replica %d goes, and the leader epoch stays %d", n, after.LeaderEpoch)
		}
	}
	if !after.Moving() {
		return
	}
	if now := after.Original(); !sameNodes(now, m.original) {
		for _, n := range now {
			held := before.InISR(n) || before.InELR(n) || slices.Contains(before.LastKnownELR, n)
			if !slices.Contains(m.original, n) && !held {
				m.fail("replica %d counts as one from before the move, but they were %v", n, m.original)
			}
		}
		m.original = now
	}
}

// checkMove holds the state against the last wish. Replicas that are out are deleted.
func (m *model) checkMove(p *metadata.Partition) {
	if !slices.Equal(p.Target(), m.wish) {
		m.fail("the target is %v; %v was wished for", p.Target(), m.wish)
	}
	for n := range m.brokers {
		if b := &m.brokers[n]; b.up && !p.HasReplica(kafka.NodeID(n)) {
			b.log = nil
		}
	}
}

// calm starts whoever is down and lets replication do its work: every move must come to its end.
func (m *model) calm() {
	m.late = nil
	for n := range m.brokers {
		m.brokers[n].full = false
		if m.brokers[n].failed {
			m.crash(n)
		}
		if !m.brokers[n].up {
			m.startBroker(n)
		}
	}
	for range 20 {
		m.pass(time.Second)
		if _, p := m.partition(); p.Leader == kafka.NoNode && len(p.ISR)+len(p.ELR)+len(p.LastKnownELR) == 0 {
			m.electAnyone()
		}
		for n := range m.brokers {
			m.replicate(n)
			if _, p := m.partition(); !p.InISR(kafka.NodeID(n)) {
				m.alter(n)
			}
			m.check()
		}
		for _, req := range m.late {
			m.deliver(req, "at last")
		}
		m.late = nil
	}
	if _, p := m.partition(); p.Leader == kafka.NoNode || !slices.Equal(p.Replicas, m.wish) || !sameNodes(p.ISR, m.wish) || p.Moving() {
		m.fail("everybody is well for long, and %v is not reached: %s", m.wish, describePartition(p))
	}
}

// electAnyone asks for an unclean election: all disks with the records were replaced.
func (m *model) electAnyone() {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version, req.ElectionType = 1, electUnclean
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	decide[*kmsg.ElectLeadersResponse](m.world, req)
	m.noteState("an unclean election is asked for")
}

func sameNodes(a, b []kafka.NodeID) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, notIn(b))
}
