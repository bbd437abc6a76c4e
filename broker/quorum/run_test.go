package quorum

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TestRunnersElectAnswerAndHandOver runs three loops on real time, connected by function calls.
func TestRunnersElectAnswerAndHandOver(t *testing.T) {
	start := time.Now()
	clock := func() kafka.Elapsed { return kafka.Elapsed(time.Since(start)) }
	var mu sync.RWMutex
	runners := map[kafka.NodeID]*Runner{}
	send := func(to kafka.NodeID, m Message) {
		mu.RLock()
		defer mu.RUnlock()
		if r := runners[to]; r != nil {
			r.Step(m)
		}
	}
	f := Founding{ClusterID: "c"}
	for i := range 3 {
		f.Voters = append(f.Voters, Voter{Node: kafka.NodeID(i), Directory: kafka.DirectoryID{1, byte(i)}})
	}
	stops := map[kafka.NodeID]func(){}
	for _, v := range f.Voters {
		mem := vfs.NewMem(uint64(v.Node))
		if err := Bootstrap(mem, "q", v, f); err != nil {
			t.Fatal(err)
		}
		r, err := OpenRunner(Options{
			FS: mem, Dir: "q", Self: v, Machine: &ledger{onApply: func(uint64, []byte) {}}, Send: send, Jitter: rand.Int64N,
			Timing: Timing{Tick: 5 * time.Millisecond, Election: 50 * time.Millisecond, SuspectMax: 10 * time.Millisecond},
		}, clock)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		runners[v.Node] = r
		mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		stops[v.Node] = func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("node %d: %v", v.Node, err)
			}
		}
	}
	for i := range 100 {
		askSomebody(t, runners, fmt.Sprintf("w%d", i))
	}
	leader := leaderOf(runners)
	stops[leader]()
	delete(stops, leader)
	stopped := make(chan error, 1)
	runners[leader].Submit("late", func(_ any, err error) { stopped <- err })
	if err := <-stopped; !errors.Is(err, ErrStopped) {
		t.Errorf("a stopped node answers %v", err)
	}
	mu.Lock()
	delete(runners, leader)
	mu.Unlock()
	askSomebody(t, runners, "after")
	for _, stop := range stops {
		stop()
	}
}

func leaderOf(runners map[kafka.NodeID]*Runner) kafka.NodeID {
	for id, r := range runners {
		if r.Status().Leading {
			return id
		}
	}
	return kafka.NoNode
}

// askSomebody submits to each node in turn until one decides.
func askSomebody(t *testing.T, runners map[kafka.NodeID]*Runner, word string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		for _, r := range runners {
			answer := make(chan error, 1)
			r.Submit(word, func(_ any, err error) { answer <- err })
			if <-answer == nil {
				return
			}
		}
	}
	t.Fatalf("%s was not decided", word)
}
