package quorum

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// world is a few nodes on a network in memory. Everything that happens comes from its seed.
type world struct {
	t      *testing.T
	rnd    *rand.Rand
	now    kafka.Elapsed
	hosts  []*host
	flight []packet
	seq    int
	trace  strings.Builder
	limits Limits

	loss, dup float64
	maxDelay  time.Duration
	cut       func(from, to kafka.NodeID) bool

	leaders   map[uint64]uint64 // raft leader of each term
	committed map[uint64]string // data of each index, from whoever applied it first
	answered  map[string]int    // words answered, with their place
}

// host is a machine with a disk; its node is nil while it is down.
type host struct {
	w     *world
	self  Voter
	disk  *vfs.Mem
	node  *Node
	state *ledger
	peers []kafka.NodeID
	still kafka.Elapsed // it takes in no message and no timer fires until then
}

type packet struct {
	at  kafka.Elapsed
	seq int
	msg []byte
	to  kafka.NodeID
}

const testCluster = "cluster-of-tests"

func newWorld(t *testing.T, seed uint64, hosts int) *world {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 2)), maxDelay: 2 * time.Millisecond,
		leaders: map[uint64]uint64{}, committed: map[uint64]string{}, answered: map[string]int{}}
	for i := range hosts {
		w.addHost(kafka.NodeID(i), seed)
	}
	return w
}

func (w *world) addHost(id kafka.NodeID, seed uint64) *host {
	h := &host{w: w, self: Voter{Node: id, Directory: kafka.DirectoryID{1, byte(id)}}, disk: vfs.NewMem(seed*100 + uint64(id))}
	w.hosts = append(w.hosts, h)
	return h
}

// found bootstraps the first n hosts as voters and starts all.
func (w *world) found(n int) {
	f := Founding{ClusterID: testCluster}
	for _, h := range w.hosts[:n] {
		f.Voters = append(f.Voters, h.self)
	}
	for i, h := range w.hosts {
		if i < n {
			if err := Bootstrap(h.disk, "q", h.self, f); err != nil {
				w.t.Fatal(err)
			}
		}
		h.start()
	}
}

func (h *host) start() {
	h.peers = nil
	for _, o := range h.w.hosts {
		h.peers = append(h.peers, o.self.Node)
	}
	h.state = &ledger{}
	h.state.onApply = func(index uint64, data []byte) { h.w.applied(h, index, string(data)) }
	n, err := Open(Options{
		FS: h.disk, Dir: "q", Self: h.self, Peers: h.peers, Machine: h.state, Limits: h.w.limits,
		Send:    func(to kafka.NodeID, m Message) { h.w.send(to, m) },
		Jitter:  func(n int64) int64 { return h.w.rnd.Int64N(n) },
		Observe: func(f Fact) { h.w.logf("node %d: %T%+v", h.self.Node, f, f) },
	}, h.w.now)
	if err != nil {
		h.w.t.Fatalf("node %d: %v", h.self.Node, err)
	}
	h.node = n
	n.Process(h.w.now)
}

// crash stops a host; its disk keeps what was synced and a part of the rest.
func (h *host) crash() {
	h.w.logf("node %d crashes", h.self.Node)
	h.node, h.still = nil, 0
	h.disk.Crash()
}

func (w *world) logf(format string, args ...any) {
	fmt.Fprintf(&w.trace, "%8.3fms ", float64(w.now)/1e6)
	fmt.Fprintf(&w.trace, format+"\n", args...)
}

func (w *world) send(to kafka.NodeID, m Message) {
	copies := 1
	if w.rnd.Float64() < w.loss || w.cut != nil && w.cut(m.From, to) {
		copies = 0
	} else if w.rnd.Float64() < w.dup {
		copies = 2
	}
	b, err := m.AppendTo(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for range copies {
		w.seq++
		delay := time.Duration(w.rnd.Int64N(int64(w.maxDelay)) + 1)
		w.flight = append(w.flight, packet{w.now.Add(delay), w.seq, b, to})
	}
}

// applied checks that all nodes apply the same at an index.
func (w *world) applied(h *host, index uint64, data string) {
	if was, ok := w.committed[index]; ok && was != data {
		w.t.Fatalf("node %d applies %q at %d, another applied %q\n%s", h.self.Node, data, index, was, w.trace.String())
	}
	w.committed[index] = data
}

// step lets the next thing happen: a packet arrives or a timer fires.
func (w *world) step() {
	next, packetAt := kafka.Elapsed(-1), -1
	for i, p := range w.flight {
		if next < 0 || p.at < next || p.at == next && p.seq < w.flight[packetAt].seq {
			next, packetAt = p.at, i
		}
	}
	var due *host
	for _, h := range w.hosts {
		if h.node == nil {
			continue
		}
		if at := max(h.node.Deadline(), h.still); next < 0 || at < next {
			next, due = at, h
		}
	}
	w.now = max(w.now, next)
	switch {
	case due == nil && packetAt < 0: // everybody is down
		w.now = w.now.Add(time.Millisecond)
	case due != nil:
		due.node.Tick(w.now)
		due.node.Process(w.now)
	case packetAt >= 0:
		p := w.flight[packetAt]
		w.flight = slices.Delete(w.flight, packetAt, packetAt+1)
		h := w.host(p.to)
		switch {
		case h == nil || h.node == nil:
		case w.now < h.still: // it waits in the socket, behind what is there already
			w.seq++
			w.flight = append(w.flight, packet{h.still, w.seq, p.msg, p.to})
		default:
			m, err := ParseMessage(p.msg)
			if err != nil {
				w.t.Fatal(err)
			}
			h.node.Step(m, w.now)
			h.node.Process(w.now)
		}
	}
	w.checkLeaders()
}

func (w *world) checkLeaders() {
	for _, h := range w.hosts {
		if h.node == nil || h.node.role != raft.StateLeader {
			continue
		}
		if was, ok := w.leaders[h.node.term]; ok && was != h.node.id {
			w.t.Fatalf("term %d has two leaders: %x and %x\n%s", h.node.term, was, h.node.id, w.trace.String())
		}
		w.leaders[h.node.term] = h.node.id
	}
}

func (w *world) host(id kafka.NodeID) *host {
	for _, h := range w.hosts {
		if h.self.Node == id {
			return h
		}
	}
	return nil
}

func (w *world) run(d time.Duration) {
	for end := w.now.Add(d); w.now < end; {
		w.step()
	}
}

// until runs until ok holds, at most for limit.
func (w *world) until(what string, limit time.Duration, ok func() bool) {
	w.t.Helper()
	for end := w.now.Add(limit); !ok(); {
		if w.now >= end {
			for _, h := range w.hosts {
				if h.node != nil {
					w.logf("node %d: role %v, %+v, %v", h.self.Node, h.node.role, h.node.Status(), h.node.raft.Status())
				}
			}
			w.t.Fatalf("not within %v: %s\n%s", limit, what, w.trace.String())
		}
		w.step()
	}
}

// leader is the host that decides, nil when there is none; the newest when a deposed one does not know it yet.
func (w *world) leader() *host {
	var best *host
	for _, h := range w.hosts {
		if h.node != nil && h.node.Leading() && (best == nil || h.node.term > best.node.term) {
			best = h
		}
	}
	return best
}

// submit asks a host to add a word and keeps what was answered.
func (w *world) submit(h *host, word string) (answer func() error) {
	result := errors.New("no answer yet")
	h.node.Submit(word, w.now, func(reply any, err error) {
		result = err
		if err == nil {
			w.answered[word] = reply.(int)
			w.logf("answered %s: %v", word, reply)
		}
	})
	h.node.Process(w.now)
	return func() error { return result }
}

// mustSubmit adds a word at the leader, again when it turns out to be deposed.
func (w *world) mustSubmit(word string) {
	w.t.Helper()
	var answer func() error
	w.until("an answer to "+word, 20*time.Second, func() bool {
		var no *NotLeaderError
		if l := w.leader(); l != nil && (answer == nil || errors.As(answer(), &no)) {
			answer = w.submit(l, word)
		}
		return answer != nil && answer() == nil
	})
}

// checkAnswered checks that every word answered is where the answer said, on every node that applied as far.
func (w *world) checkAnswered() {
	w.t.Helper()
	for word, place := range w.answered {
		for _, h := range w.hosts {
			if h.node == nil || len(h.state.words) <= place {
				continue
			}
			if h.state.words[place] != word {
				w.t.Fatalf("node %d has %q at %d, answered was %q\n%s", h.self.Node, h.state.words[place], place, word, w.trace.String())
			}
		}
	}
}

// settle heals everything, starts all hosts and demands that they agree.
func (w *world) settle() {
	w.t.Helper()
	w.loss, w.dup, w.cut = 0, 0, nil
	for _, h := range w.hosts {
		if h.node == nil {
			h.start()
		}
	}
	w.until("a leader after healing", 20*time.Second, func() bool { return w.leader() != nil })
	w.mustSubmit(fmt.Sprintf("settled-%d", w.seq))
	w.until("the same state everywhere", 20*time.Second, func() bool {
		for _, h := range w.hosts {
			if h.node.applied != w.leader().node.applied || !slices.Equal(h.state.words, w.leader().state.words) {
				return false
			}
		}
		return true
	})
	for word, place := range w.answered {
		if got := w.leader().state.words; place >= len(got) || got[place] != word {
			w.t.Fatalf("%q was answered for place %d and is lost\n%s", word, place, w.trace.String())
		}
	}
}
