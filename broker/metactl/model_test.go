package metactl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// model is a naive cluster beside a controller: brokers with logs of one partition, which crash, lose what they had not
// flushed, lose their disks, pause, stop and come back. It knows which records were committed, and holds every
// election of the controller against that.
type model struct {
	*world
	rnd     *rand.Rand
	events  int // kinds of events: in some worlds no disk gets full and no log fails, which hides other faults
	minISR  int
	brokers [4]modelBroker
	// The replicas before the running move, and the last wish, told naively.
	original, wish []kafka.NodeID
	joining        []kafka.NodeID // by the AlterPartition that is being delivered
	// committed is the prefix of the log that clients were told is stored.
	committed []int
	next      int
	late      []*kmsg.AlterPartitionRequest // sent and not delivered yet
	trace     []string
	broken    string
}

type modelBroker struct {
	up       bool
	full     bool          // its disk
	failed   bool          // its log: the process takes part in nothing, and starts again without a record
	process  int           // counts starts
	disk     int           // counts directories
	previous int64         // epoch of the clean stop, -1 otherwise
	epoch    int64         // as the process knows it, -1 before registration
	log      []int         // records
	silent   kafka.Elapsed // since when it is down
	// electable is ELR membership told naively: it left the ISR when too few remained, and since then there were never
	// enough, nor did it lose anything.
	electable bool
	epochs    []int64           // of all its registrations
	reported  kafka.LeaderEpoch // of the last report of its end, and that end
	end       int
}

// modelSettleTime is short, so that leaderships go back amid the events of a run.
const modelSettleTime = time.Second

func runModel(t *testing.T, seed uint64, rules Rules) *model {
	rnd := rand.New(rand.NewPCG(seed, 7))
	m := &model{world: newWorld(t, Options{Rules: &rules, SettleTime: modelSettleTime}), rnd: rnd, events: 21 + int(seed%3), minISR: 1 + rnd.IntN(3)}
	for n := range m.brokers {
		m.brokers[n].previous, m.brokers[n].epoch = -1, -1
		m.startBroker(n)
	}
	m.pass(0)
	m.create(placedTopic("t", [][]int32{{0, 1, 2}}, fmt.Sprintf("min.insync.replicas=%d", m.minISR)))
	m.wish = []kafka.NodeID{0, 1, 2}
	for range 300 {
		m.step()
		m.check()
		if m.broken != "" {
			return m
		}
	}
	m.calm()
	return m
}

func (m *model) partition() (*metadata.Topic, *metadata.Partition) {
	topic := m.image().TopicByName("t")
	return topic, topic.Partition(0)
}

func (m *model) note(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

// noteState adds what an operation changed.
func (m *model) noteState(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if len(m.delta.Partitions) > 0 {
		what += ": " + describePartition(m.delta.Partitions[0].After)
	}
	m.note("%s", what)
	m.elected()
}

func (m *model) fail(format string, args ...any) {
	if m.broken == "" {
		m.broken = fmt.Sprintf(format, args...)
	}
}

func commonPrefix(a, b []int) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (m *model) step() {
	n := m.rnd.IntN(len(m.brokers))
	b := &m.brokers[n]
	m.pass(time.Duration(m.rnd.IntN(400)) * time.Millisecond)
	switch m.rnd.IntN(m.events) {
	case 0, 1, 2, 3:
		m.produce()
	case 4, 5, 6, 7:
		m.replicate(n)
	case 8, 9:
		m.alter(n)
	case 10:
		if len(m.late) > 0 {
			i := m.rnd.IntN(len(m.late))
			req := m.late[i]
			m.late = slices.Delete(m.late, i, i+1)
			m.deliver(req, "late")
		}
	case 11:
		if b.up && m.rnd.IntN(3) == 0 {
			m.crash(n)
		}
	case 12:
		if b.up && m.rnd.IntN(4) == 0 {
			m.stopCleanly(n)
		}
	case 13:
		if !b.up {
			m.startBroker(n)
		}
	case 14:
		if b.up && m.rnd.IntN(2) == 0 { // a connection that broke for no good reason
			m.commit(m.c.Suspect(kafka.NodeID(n), -1, m.now))
			m.noteState("broker %d is suspected", n)
		}
	case 15:
		if !b.up && m.rnd.IntN(4) == 0 {
			b.log, b.previous = nil, -1
			b.disk++
			b.electable = false
			m.note("the disk of broker %d is replaced", n)
		}
	case 16: // killed and started again at once
		if len(m.late) > 0 && m.rnd.IntN(2) == 0 { // one one that a leader is about to let in
			isr := m.late[0].Topics[0].Partitions[0].NewEpochISR
			n = int(isr[len(isr)-1].BrokerID)
		}
		if m.brokers[n].up {
			m.crash(n)
			m.startBroker(n)
		}
	case 17:
		if _, p := m.partition(); p.Leader != kafka.NoNode && m.brokers[p.Leader].up && m.rnd.IntN(3) == 0 {
			m.crash(int(p.Leader))
		}
	case 18: // a process that was replaced wakes up
		if old := m.lastEpoch(n); b.up && old >= 0 {
			req := kmsg.NewPtrBrokerHeartbeatRequest()
			req.BrokerID, req.BrokerEpoch, req.WantFence = int32(n), old, true
			if resp := decide[*kmsg.BrokerHeartbeatResponse](m.world, req); resp.ErrorCode == 0 {
				m.fail("a heartbeat of an earlier registration of broker %d is taken for one of its own", n)
			}
		}
	case 20:
		m.move()
	case 21:
		b.full = m.rnd.IntN(2) == 0
		m.note("the disk of broker %d is full: %v", n, b.full)
	case 22:
		if b.up && m.rnd.IntN(3) == 0 {
			b.failed, b.electable = true, false
			m.note("the log of broker %d fails", n)
		}
	case 19: // another process claims the id
		if b.up && m.image().Eligible(kafka.NodeID(n)) {
			req := registration(int32(n), "other", "other", -1)
			if resp := decide[*kmsg.BrokerRegistrationResponse](m.world, req); resp.ErrorCode == 0 {
				m.fail("another process takes the id of live broker %d", n)
			}
		}
	}
}

// pass lets time pass: the living send heartbeats and the ends of leaderless logs.
func (m *model) pass(d time.Duration) {
	m.now = m.now.Add(d)
	for n := range m.brokers {
		if b := &m.brokers[n]; b.up {
			resp := m.heartbeatOf(n, false)
			if resp.ErrorCode != 0 {
				m.fail("heartbeat of broker %d: %v", n, kafka.ErrorCode(resp.ErrorCode))
			}
			m.noteIfChanged("heartbeat of broker %d", n)
			m.report(n)
			m.resign(n)
		}
	}
	m.commit(m.c.Tick(m.now))
	m.noteIfChanged("tick")
}

func (m *model) noteIfChanged(format string, args ...any) {
	if !m.delta.Empty() {
		m.noteState(format, args...)
	}
}

func (m *model) heartbeatOf(n int, stop bool) *kmsg.BrokerHeartbeatResponse {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch, req.WantShutdown = int32(n), m.brokers[n].epoch, stop
	req.CurrentMetadataOffset = int64(m.index)
	if m.brokers[n].full {
		wire.SetDiskFull(req)
	}
	return decide[*kmsg.BrokerHeartbeatResponse](m.world, req)
}

func (m *model) report(n int) {
	topic := m.image().TopicByName("t")
	if topic == nil || topic.Partition(0).Leader != kafka.NoNode || !topic.Partition(0).HasReplica(kafka.NodeID(n)) {
		return
	}
	b := &m.brokers[n]
	if b.failed {
		return
	}
	b.reported, b.end = topic.Partition(0).LeaderEpoch, len(b.log)
	decide[*LogEndsResponse](m.world, &LogEndsRequest{BrokerID: kafka.NodeID(n), BrokerEpoch: kafka.BrokerEpoch(b.epoch), Ends: []LogEnd{{
		TopicIDPartition: kafka.TopicIDPartition{TopicID: topic.ID}, LeaderEpoch: topic.Partition(0).LeaderEpoch,
		EndOffset: kafka.Offset(len(b.log)),
	}}})
	m.noteIfChanged("broker %d reports an end of %d", n, len(b.log))
}

// produce has the leader append a record, and commit what its ISR has.
func (m *model) produce() {
	_, p := m.partition()
	if p.Leader == kafka.NoNode || !m.brokers[p.Leader].up {
		return
	}
	b := &m.brokers[p.Leader]
	if b.full || b.failed {
		return
	}
	m.next++
	b.log = append(b.log, m.next)
	m.advance()
}

// replicate has a follower fetch all that the leader has.
func (m *model) replicate(n int) {
	_, p := m.partition()
	if p.Leader == kafka.NoNode || p.Leader == kafka.NodeID(n) || !m.brokers[n].works() || !m.brokers[p.Leader].works() || !p.HasReplica(kafka.NodeID(n)) {
		return
	}
	if m.brokers[n].full {
		m.brokers[n].log = m.brokers[n].log[:commonPrefix(m.brokers[n].log, m.brokers[p.Leader].log)]
		return
	}
	m.brokers[n].log = slices.Clone(m.brokers[p.Leader].log)
	m.advance()
}

// advance moves the high watermark to what every member of the ISR has, if there are enough.
func (m *model) advance() {
	_, p := m.partition()
	if len(p.ISR) < m.minInSync(p) {
		return
	}
	leader := m.brokers[p.Leader].log
	end := len(leader)
	for _, n := range slices.Concat(p.ISR, m.pending(p)) {
		if !m.brokers[n].works() && n != p.Leader {
			return // it fetches nothing
		}
		end = min(end, commonPrefix(leader, m.brokers[n].log))
	}
	if end > len(m.committed) {
		m.committed = slices.Clone(leader[:end])
	}
}

// pending is whom the leader has asked to let in: it must count them until it hears otherwise (the maximal ISR).
func (m *model) pending(p *metadata.Partition) []kafka.NodeID {
	var out []kafka.NodeID
	for _, req := range m.late {
		rp := req.Topics[0].Partitions[0]
		if rp.LeaderEpoch == int32(p.LeaderEpoch) && rp.PartitionEpoch == int32(p.Epoch) {
			for _, e := range rp.NewEpochISR {
				out = append(out, kafka.NodeID(e.BrokerID))
			}
		}
	}
	return out
}

// alter has the leader ask for an ISR with or without a broker, as it sees the cluster now. Some requests arrive late.
func (m *model) alter(n int) {
	topic, p := m.partition()
	if p.Leader == kafka.NoNode || p.Leader == kafka.NodeID(n) || !m.brokers[p.Leader].works() {
		return
	}
	isr := slices.Clone(p.ISR)
	if p.InISR(kafka.NodeID(n)) {
		isr = without(isr, kafka.NodeID(n))
	} else if p.HasReplica(kafka.NodeID(n)) && slices.Equal(m.brokers[n].log, m.brokers[p.Leader].log) {
		isr = append(isr, kafka.NodeID(n))
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, int32(p.Leader), m.brokers[p.Leader].epoch
	rt := kmsg.NewAlterPartitionRequestTopic()
	rt.TopicID = topic.ID
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.LeaderEpoch, rp.PartitionEpoch = int32(p.LeaderEpoch), int32(p.Epoch)
	for _, id := range isr {
		rp.NewEpochISR = append(rp.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(id), BrokerEpoch: m.brokers[id].epoch})
	}
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	if m.rnd.IntN(4) == 0 {
		m.note("leader %d wants ISR %v, which takes long", p.Leader, isr)
		m.late = append(m.late, req)
		return
	}
	m.deliver(req, "soon")
}

func (m *model) deliver(req *kmsg.AlterPartitionRequest, when string) {
	m.joining = nil
	for _, e := range req.Topics[0].Partitions[0].NewEpochISR {
		m.joining = append(m.joining, kafka.NodeID(e.BrokerID))
	}
	resp := decide[*kmsg.AlterPartitionResponse](m.world, req)
	defer func() { m.joining = nil }()
	m.noteState("AlterPartition of %d arrives %s: %+v", req.BrokerID, when, resp.ErrorCode)
}

// crash ends a process without notice. It may lose records that it had not flushed.
func (m *model) crash(n int) {
	b := &m.brokers[n]
	b.up, b.previous, b.silent, b.electable = false, -1, m.now, false
	if m.rnd.IntN(2) == 0 {
		b.log = b.log[:m.rnd.IntN(len(b.log)+1)]
	}
	b.endFailed()
	m.note("broker %d crashes and keeps %d records", n, len(b.log))
	if m.rnd.IntN(2) == 0 {
		m.commit(m.c.Suspect(kafka.NodeID(n), kafka.BrokerEpoch(b.epoch), m.now))
		m.noteState("its connection closes")
	}
}

func (m *model) stopCleanly(n int) {
	b := &m.brokers[n]
	for range 3 {
		resp := m.heartbeatOf(n, true)
		m.noteState("broker %d wants to stop", n)
		if resp.ShouldShutdown {
			b.up, b.previous, b.silent = false, b.epoch, m.now
			b.endFailed()
			return
		}
	}
	m.fail("broker %d is never let go", n)
}

// startBroker starts a process; where the last one counts as alive still, it waits.
func (m *model) startBroker(n int) {
	b := &m.brokers[n]
	b.process++
	for range 20 {
		req := registration(int32(n), fmt.Sprintf("disk-%d-%d", n, b.disk), fmt.Sprintf("run-%d-%d", n, b.process), b.previous)
		resp := decide[*kmsg.BrokerRegistrationResponse](m.world, req)
		m.noteIfChanged("broker %d registers with %d records", n, len(b.log))
		if resp.ErrorCode == 0 {
			b.epochs = append(b.epochs, resp.BrokerEpoch)
			b.up, b.epoch, b.previous, b.reported = true, resp.BrokerEpoch, -1, -1
			return
		}
		m.pass(time.Second)
	}
	m.fail("broker %d cannot register", n)
}

// works tells whether a broker runs and its log is in service.
func (b *modelBroker) works() bool { return b.up && !b.failed }

// endFailed ends a process whose log failed: there is nothing of it, and the stop is no clean one.
func (b *modelBroker) endFailed() {
	if b.failed {
		b.failed, b.log, b.previous = false, nil, -1
	}
}

// resign has a broker whose log failed ask to be out of ISR and ELR. It must come true if another one can lead.
func (m *model) resign(n int) {
	if !m.brokers[n].failed {
		return
	}
	topic, p := m.partition()
	id := kafka.NodeID(n)
	if !p.InISR(id) && !p.InELR(id) {
		return
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, int32(n), m.brokers[n].epoch
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.LeaderEpoch, rp.PartitionEpoch = int32(p.LeaderEpoch), int32(p.Epoch)
	for _, o := range without(p.ISR, id) {
		rp.NewEpochISR = append(rp.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(o), BrokerEpoch: -1})
	}
	req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: topic.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{rp}}}
	resp := decide[*kmsg.AlterPartitionResponse](m.world, req)
	m.noteState("broker %d resigns: %d", n, resp.Topics[0].Partitions[0].ErrorCode)
	others := slices.ContainsFunc(slices.Concat(p.ISR, p.ELR), func(o kafka.NodeID) bool { return o != id && m.image().Eligible(o) })
	if _, after := m.partition(); others && (after.InISR(id) || after.InELR(id) || after.Leader == kafka.NoNode) {
		m.fail("broker %d, whose log failed, keeps others from leading: %s", n, describePartition(after))
	}
}

// lastEpoch is the epoch of the registration before the present one.
func (m *model) lastEpoch(n int) int64 {
	if e := m.brokers[n].epochs; len(e) > 1 {
		return e[len(e)-2]
	}
	return -1
}
