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
