package group

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSchedules plays random clients against a machine whose log is slow, refuses, times out, and whose owner crashes.
// It checks the invariants after every step; that no ticket is answered twice; that an acknowledged commit is never
// lost or shown before it is in the log; that a replay gives the live state; and that, when the chaos ends, the group
// is stable with all clients in it: no rebalance is stuck.
func TestSchedules(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 30
	}
	base := rand.Uint64()
	for i := range n {
		seed := base + uint64(i)
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { newWorld(t, seed).run(800) }) {
			return
		}
	}
}

// world is one machine, its log and its clients.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	config  Config
	m       *Machine
	now     Time
	ticket  Ticket
	waiting map[Ticket]func(kmsg.Response)
	ids     uint32
	held    []Append
	log     []Record
	clients []*client
	trace   []string
}

// client is one well-behaved consumer, except that it crashes and loses answers when it is told to.
type client struct {
	w          *world
	name       string
	instance   *string
	session    time.Duration
	id         string
	generation int32
	leads      []string // member ids, if it leads
	assigned   bool
	asking     bool // a join or sync waits
	life       int  // answers to a former life are lost
	dead       bool
	beat       kafka.Elapsed // of its last heartbeat

	acked, tried int64 // of its commits for its own partition
	partition    int32
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), config: DefaultConfig(), now: Time{Wall: 1}, waiting: map[Ticket]func(kmsg.Response){}}
	w.config.InitialRebalanceDelay = time.Duration(w.rnd.IntN(4)) * time.Second
	w.m = New(w.config)
	w.m.Activate(w.now)
	for i := range 1 + w.rnd.IntN(6) {
		c := &client{w: w, name: fmt.Sprintf("c%d", i), partition: int32(i), session: time.Duration(6+w.rnd.IntN(20)) * time.Second, dead: true}
		if w.rnd.IntN(3) == 0 {
			c.instance = kmsg.StringPtr("i" + c.name)
		}
		w.clients = append(w.clients, c)
	}
	return w
}

func (w *world) tracef(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%8s ", time.Duration(w.now.Elapsed))+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format+"\n%s", append(args, strings.Join(w.trace[max(0, len(w.trace)-60):], "\n"))...)
}

func (w *world) run(steps int) {
	for range steps {
		w.chaos()
		w.settle()
		w.m.checkInvariants(w.t)
	}
	w.calm()
	w.checkReplay()
	w.checkCommits()
}

// chaos does one random thing.
func (w *world) chaos() {
	c := w.clients[w.rnd.IntN(len(w.clients))]
	switch k := w.rnd.IntN(100); {
	case k < 50:
		c.act()
	case k < 70:
		w.advance(time.Duration(w.rnd.IntN(3000)) * time.Millisecond)
	case k < 73:
		w.tracef("%s crashes", c.name)
		c.crash()
	case k < 76 && !c.dead && c.id != "":
		w.tracef("%s leaves", c.name)
		c.leave()
	case k < 90 && len(w.held) > 0:
		w.outcome()
	case k < 91:
		w.crashOwner()
	case k < 92:
		w.tracef("a stray client takes an id and goes")
		req := c.joinRequest()
		req.MemberID, req.InstanceID = "", nil
		w.ask(req, func(kmsg.Response) {})
	}
}

func (w *world) ask(req kmsg.Request, then func(kmsg.Response)) {
	w.ticket++
	w.ids++
	w.waiting[w.ticket] = then
	w.m.Handle(w.now, w.ticket, req, Caller{ClientID: "c", NewID: kafka.UUID{12: byte(w.ids >> 24), 13: byte(w.ids >> 16), 14: byte(w.ids >> 8), 15: byte(w.ids)}})
	w.settle()
}

// settle hands out answers until there are none. Appends are held.
func (w *world) settle() {
	for w.m.HasReady() {
		r := w.m.Ready()
		w.held = append(w.held, r.Appends...)
		for _, a := range r.Answers {
			then := w.waiting[a.Ticket]
			if then == nil {
				w.fail("G5: ticket %d is answered twice, or never was given", a.Ticket)
			}
			delete(w.waiting, a.Ticket)
			then(a.Response)
		}
	}
}

// outcome lets the first append end.
func (w *world) outcome() {
	ap := w.held[0]
	switch w.rnd.IntN(10) {
	case 0:
		w.tracef("append %d is refused", ap.ID)
		w.held = w.held[1:]
		w.m.Failed(w.now, ap.ID, kafka.NotEnoughReplicas)
	case 1:
		w.tracef("append %d is late", ap.ID)
		w.m.TimedOut(w.now, ap.ID)
	default:
		w.commitFirst()
	}
}

func (w *world) commitFirst() {
	ap := w.held[0]
	w.held = w.held[1:]
	w.log = append(w.log, ap.Records...)
	w.tracef("append %d is committed", ap.ID)
	w.m.Committed(w.now, ap.ID)
}

// crashOwner loses all soft state and what is not in the log; of what is on its way a random part arrives.
func (w *world) crashOwner() {
	arrives := w.rnd.IntN(len(w.held) + 1)
	w.tracef("the owner crashes; %d of %d appends arrive", arrives, len(w.held))
	for _, ap := range w.held[:arrives] {
		w.log = append(w.log, ap.Records...)
	}
	w.held = nil
	w.m = New(w.config)
	for _, r := range w.log {
		if err := w.m.Apply(r); err != nil {
			w.fail("replay: %v", err)
		}
	}
	w.m.Activate(w.now)
	waiting := w.waiting
	w.waiting = map[Ticket]func(kmsg.Response){}
	for t := Ticket(1); t <= w.ticket; t++ {
		if then := waiting[t]; then != nil {
			then(nil)
		}
	}
}

func (w *world) advance(d time.Duration) {
	end := w.now.Elapsed.Add(d)
	for {
		at, ok := w.m.NextDeadline()
		if !ok || at > end {
			break
		}
		w.setTime(max(at, w.now.Elapsed))
		w.m.Tick(w.now)
		w.settle()
		w.m.checkInvariants(w.t)
	}
	w.setTime(end)
	w.m.Tick(w.now)
}

func (w *world) setTime(at kafka.Elapsed) {
	w.now.Wall += kafka.Timestamp(time.Duration(at-w.now.Elapsed) / time.Millisecond)
	w.now.Elapsed = at
}

// calm ends the chaos: the log commits, every client is alive and acts in time. The group must settle.
func (w *world) calm() {
	w.tracef("calm")
	for range 2000 {
		for len(w.held) > 0 {
			w.commitFirst()
			w.settle()
		}
		for _, c := range w.clients {
			c.act()
		}
		w.advance(500 * time.Millisecond)
		w.m.checkInvariants(w.t)
		if w.isSettled() {
			return
		}
	}
	w.fail("stuck: %s", w.describe())
}

func (w *world) isSettled() bool {
	g := w.m.groups["g"]
	if g == nil || g.state != Stable || len(w.held) > 0 || len(g.members) != len(w.clients) {
		return false
	}
	leaders := 0
	for _, c := range w.clients {
		if !c.assigned || c.generation != g.generation {
			return false
		}
		if g.leader == c.id {
			leaders++
		}
	}
	return leaders == 1
}

func (w *world) describe() string {
	g := w.m.groups["g"]
	if g == nil {
		return "no group"
	}
	s := fmt.Sprintf("%s generation %d leader %s, %d members, %d pending, %d held\n", g.state, g.generation, g.leader, len(g.members), len(g.pending), len(w.held))
	for _, c := range w.clients {
		s += fmt.Sprintf("  %s id %s generation %d asking %v assigned %v dead %v\n", c.name, c.id, c.generation, c.asking, c.assigned, c.dead)
	}
	return s
}

func (w *world) checkReplay() {
	m := New(w.config)
	for _, r := range w.log {
		if err := m.Apply(r); err != nil {
			w.fail("replay: %v", err)
		}
	}
	if got, want := m.Dump(), w.m.Dump(); got != want {
		w.fail("replayed state differs\nreplayed:\n%slive:\n%s", got, want)
	}
}

func (w *world) checkCommits() {
	for _, c := range w.clients {
		c.fetch()
	}
}

// act does what a client does next.
func (c *client) act() {
	if c.dead {
		c.dead, c.id, c.generation = false, "", -1
	}
	g := c.w
	switch {
	case c.asking:
	case c.generation < 0:
		c.join()
	case !c.assigned:
		c.sync()
	case g.now.Elapsed-c.beat > kafka.Elapsed(c.session/4):
		c.heartbeat()
	case g.rnd.IntN(3) == 0:
		c.commit()
	case g.rnd.IntN(3) == 0:
		c.fetch()
	}
}

// crash forgets everything but the name; the coordinator is not told.
func (c *client) crash() {
	c.life++
	*c = client{w: c.w, name: c.name, instance: c.instance, session: c.session, partition: c.partition, acked: c.acked, tried: c.tried, life: c.life, dead: true}
}

// ask sends a request; the answer, nil if the coordinator went away, is lost if the client's life ended meanwhile.
func (c *client) ask(req kmsg.Request, then func(kmsg.Response)) {
	life := c.life
	c.w.ask(req, func(r kmsg.Response) {
		if life == c.life {
			then(r)
		}
	})
}

func (c *client) joinRequest() *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version = int16(3 + c.w.rnd.IntN(7))
	r.Group, r.MemberID, r.ProtocolType = "g", c.id, "consumer"
	if r.Version >= 5 {
		r.InstanceID = c.instance
	}
	if c.instance != nil {
		r.Version, r.InstanceID = int16(5+c.w.rnd.IntN(5)), c.instance
	}
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = int32(c.session.Milliseconds()), 30_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", consumerMetadata([]string{"t"})
	r.Protocols = append(r.Protocols, p)
	return r
}

func (c *client) join() {
	c.asking, c.leads = true, nil
	c.w.tracef("%s joins as %q", c.name, c.id)
	c.ask(c.joinRequest(), func(r kmsg.Response) {
		c.asking, c.assigned = false, false
		resp, _ := r.(*kmsg.JoinGroupResponse)
		if resp == nil {
			return
		}
		c.w.tracef("%s joined: %s %q generation %d leader %q", c.name, kafka.ErrorCode(resp.ErrorCode), resp.MemberID, resp.Generation, resp.LeaderID)
		switch kafka.ErrorCode(resp.ErrorCode) {
		case kafka.None:
			c.id, c.generation, c.beat = resp.MemberID, resp.Generation, c.w.now.Elapsed
			if resp.LeaderID == c.id && !resp.SkipAssignment {
				for _, m := range resp.Members {
					c.leads = append(c.leads, m.MemberID)
				}
				if len(c.leads) == 0 {
					c.w.fail("%s leads and is told of no members", c.name)
				}
			}
		case kafka.MemberIDRequired:
			c.id = resp.MemberID
		case kafka.UnknownMemberID:
			c.id = ""
		case kafka.FencedInstanceID:
			c.id = "" // its own former life: the test has one client for each instance
		case kafka.CoordinatorNotAvailable, kafka.RebalanceInProgress:
		default:
			c.w.fail("%s: join is answered %s", c.name, kafka.ErrorCode(resp.ErrorCode))
		}
	})
}

func (c *client) sync() {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.Generation = 5, "g", c.id, c.instance, c.generation
	for _, id := range c.leads {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = id, []byte("part of "+id)
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	c.asking = true
	generation := c.generation
	c.ask(r, func(r kmsg.Response) {
		c.asking = false
		resp, _ := r.(*kmsg.SyncGroupResponse)
		if resp == nil {
			return
		}
		c.w.tracef("%s synced: %s", c.name, kafka.ErrorCode(resp.ErrorCode))
		if resp.ErrorCode == 0 {
			// A static member that came back has the part of its former self.
			if got := string(resp.MemberAssignment); got != "part of "+c.id && c.instance == nil {
				c.w.fail("%s is given %q in generation %d", c.name, got, generation)
			}
			c.assigned, c.beat = true, c.w.now.Elapsed
			return
		}
		c.refused(kafka.ErrorCode(resp.ErrorCode))
	})
}

// refused does what clients do about an error of a member's request: join again, without the id if it is not known.
func (c *client) refused(code kafka.ErrorCode) {
	switch code {
	case kafka.UnknownMemberID, kafka.FencedInstanceID:
		c.id = ""
	case kafka.IllegalGeneration, kafka.RebalanceInProgress:
	case kafka.CoordinatorNotAvailable, kafka.NotCoordinator:
		if c.assigned {
			return
		}
	default:
		c.w.fail("%s: unexpected %s", c.name, code)
	}
	c.generation, c.assigned = -1, false
}

func (c *client) heartbeat() {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.Generation = 4, "g", c.id, c.instance, c.generation
	c.beat = c.w.now.Elapsed
	c.ask(r, func(r kmsg.Response) {
		if resp, _ := r.(*kmsg.HeartbeatResponse); resp != nil && resp.ErrorCode != 0 {
			c.w.tracef("%s heartbeat: %s", c.name, kafka.ErrorCode(resp.ErrorCode))
			c.refused(kafka.ErrorCode(resp.ErrorCode))
		}
	})
}

func (c *client) leave() {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group = 5, "g"
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID, m.InstanceID = c.id, c.instance
	r.Members = append(r.Members, m)
	c.w.ask(r, func(kmsg.Response) {})
	c.crash()
}

// commit commits rising offsets for the client's own partition, so that they have one order.
func (c *client) commit() {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.Generation = 9, "g", c.id, c.instance, c.generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "t"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	c.tried++
	p.Partition, p.Offset = c.partition, c.tried
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	value := c.tried
	c.w.ask(r, func(r kmsg.Response) {
		resp, _ := r.(*kmsg.OffsetCommitResponse)
		if resp == nil {
			return
		}
		if code := kafka.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode); code == kafka.None {
			c.acked = max(c.acked, value)
			if got := c.inLog(); got < value {
				c.w.fail("G6: commit of %d is acknowledged and the log has %d", value, got)
			}
		}
	})
}

// inLog is the last offset of the client's partition in the log.
func (c *client) inLog() int64 {
	last := int64(-1)
	for _, r := range c.w.log {
		if e, err := decodeRecord(r); err == nil && e.offset != nil && e.offsetKey.Partition == c.partition {
			last = int64(e.offset.offset)
		}
	}
	return last
}

func (c *client) fetch() {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version = 9
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = "t", []int32{c.partition}
	g.Topics = append(g.Topics, t)
	r.Groups = append(r.Groups, g)
	want := c.inLog()
	c.w.ask(r, func(r kmsg.Response) {
		got := r.(*kmsg.OffsetFetchResponse).Groups[0].Topics[0].Partitions[0].Offset
		if got != want || c.acked > 0 && got < c.acked {
			c.w.fail("G7: %s fetches %d, the log has %d, acknowledged %d", c.name, got, want, c.acked)
		}
	})
}
