package group

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// State of a live group; see the package comment.
type State uint8

// The states, named by String as Kafka's tools print them.
const (
	Empty State = iota
	Preparing
	Completing
	Stable
	Dead
)

func (s State) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}[s]
}

// consumerProtocol is the protocol type of consumers: the one whose member metadata the coordinator can read.
const consumerProtocol = "consumer"

// group is one group: what is durable, and the soft state of its members.
type group struct {
	id string

	// Durable; changed only by [Machine.Apply].
	saved   *saved // nil: no metadata record; a group of committed offsets alone, or one that nobody joined yet
	offsets offsets

	// Soft.
	state   State
	initial bool // Preparing began from Empty: completion waits for the initial delay, not for all members to join
	// grown: a member was added since the initial delay began, so the delay is extended.
	grown bool
	// delayLeft is how much longer the initial delay may be extended.
	delayLeft kafka.Elapsed

	generation   int32
	protocolType string
	protocol     string // chosen for this generation; empty in a group without members
	leader       string // member id
	since        kafka.Timestamp

	members  []*member // in order of joining, so that elections and answers repeat exactly
	byID     map[string]*member
	byStatic map[string]*member
	pending  map[string]*alarm // member ids that were handed out and have not joined
	joined   int               // members that wait for the rebalance
	support  map[string]int    // members that have the protocol, by its name

	// topics that the members subscribe to, as of the last generation; known only of consumers.
	topics map[string]bool

	rebalance alarm // delayAlarm, joinAlarm or syncAlarm
	saving    bool  // the leader's assignment of this generation is on its way to the log

	writes         int // appends of this group without an outcome
	pendingCommits map[kafka.TopicPartition]pendingCommit
}

// pendingCommit are the commits for one partition that are on their way to the log.
type pendingCommit struct {
	count int
	last  kafka.TopicID // of the latest one: what the offset will be of
}

// member is one member of a live group.
type member struct {
	id         string
	instanceID *string // static member, KIP-345
	clientID   string
	clientHost string

	sessionMillis   int32
	rebalanceMillis int32
	protocols       []kmsg.JoinGroupRequestProtocol // in order of preference
	assignment      []byte

	// fresh: its first join has not been answered, so it cannot heartbeat.
	fresh   bool
	synced  bool // in this generation
	session alarm

	joining *waitingJoin
	syncing *waitingSync
	// returning waits for the record of a static member that replaced another; a rebalance makes it joining.
	returning *waitingJoin
}

type waitingJoin struct {
	ticket Ticket
	resp   *kmsg.JoinGroupResponse
}

type waitingSync struct {
	ticket Ticket
	resp   *kmsg.SyncGroupResponse
}

func (m *Machine) newGroup(id string) *group {
	g := &group{id: id}
	g.rebalance.group = g
	m.groups[id] = g
	return g
}

// groupFor finds the group or begins one.
func (m *Machine) groupFor(id string) *group {
	if g := m.groups[id]; g != nil {
		return g
	}
	return m.newGroup(id)
}

// reap forgets a group of which nothing is left.
func (m *Machine) reap(g *group) {
	if g.saved == nil && len(g.offsets) == 0 && g.writes == 0 && len(g.members) == 0 && len(g.pending) == 0 &&
		g.state == Empty && m.groups[g.id] == g {
		delete(m.groups, g.id)
	}
}

// sorted lists the groups by id.
func (m *Machine) sorted() []*group {
	gs := make([]*group, 0, len(m.groups))
	for _, g := range m.groups {
		gs = append(gs, g)
	}
	slices.SortFunc(gs, func(a, b *group) int { return strings.Compare(a.id, b.id) })
	return gs
}

func (g *group) become(now Time, s State) {
	g.state = s
	g.since = now.Wall
}

// add puts a member into the group. The first one gives it its protocol type and leads until an election.
func (g *group) add(mb *member) {
	if len(g.members) == 0 {
		g.leader = mb.id
	}
	if g.byID == nil {
		g.byID = map[string]*member{}
	}
	g.members = append(g.members, mb)
	g.count(mb, 1)
	g.byID[mb.id] = mb
	if mb.instanceID != nil {
		if g.byStatic == nil {
			g.byStatic = map[string]*member{}
		}
		g.byStatic[*mb.instanceID] = mb
	}
	mb.session.kind, mb.session.group, mb.session.member = sessionAlarm, g, mb
}

// static is the member with the instance id, or nil.
func (g *group) static(instanceID *string) *member {
	if instanceID == nil {
		return nil
	}
	return g.byStatic[*instanceID]
}

// check says why a request in the name of a member is refused, or gives the member.
func (g *group) check(id string, instanceID *string) (*member, kafka.ErrorCode) {
	if instanceID != nil {
		mb := g.static(instanceID)
		if mb == nil {
			return nil, kafka.UnknownMemberID
		}
		if mb.id != id {
			return nil, kafka.FencedInstanceID
		}
	}
	mb := g.byID[id]
	if mb == nil {
		return nil, kafka.UnknownMemberID
	}
	return mb, kafka.None
}

// count notes, or takes back, which protocols the member has.
func (g *group) count(mb *member, by int) {
	if g.support == nil {
		g.support = map[string]int{}
	}
	for i := range mb.protocols {
		name := mb.protocols[i].Name
		if g.support[name] += by; g.support[name] == 0 {
			delete(g.support, name)
		}
	}
}

func (g *group) allSupport(protocol string) bool { return g.support[protocol] == len(g.members) }

// stopWaiting takes the member's waiting join.
func (g *group) stopWaiting(mb *member) *waitingJoin {
	w := mb.joining
	if w != nil {
		mb.joining = nil
		g.joined--
	}
	return w
}

// metadata is what the member sent for the protocol.
func (mb *member) metadata(protocol string) []byte {
	for i := range mb.protocols {
		if mb.protocols[i].Name == protocol {
			return mb.protocols[i].Metadata
		}
	}
	return nil
}
