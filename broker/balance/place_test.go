package balance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func TestPlace(t *testing.T) {
	brokers := func(racks ...string) []Broker {
		var out []Broker
		for i, r := range racks {
			out = append(out, Broker{ID: kafka.NodeID(i), Rack: r})
		}
		return out
	}
	fenced := func(b []Broker, ids ...int) []Broker {
		for _, i := range ids {
			b[i].Fenced = true
		}
		return b
	}
	f := func(p Placement, want string) {
		t.Helper()
		got, ok := Place(p)
		if text := fmt.Sprint(got, ok); text != want {
			t.Errorf("Place(%+v) = %s, want %s", p, text, want)
		}
	}
	f(Placement{Brokers: brokers("", "", ""), Partitions: 3, Replicas: 3}, "[[0 1 2] [1 2 0] [2 0 1]] true")
	f(Placement{Brokers: brokers("", "", ""), Partitions: 6, Replicas: 3}, "[[0 1 2] [1 2 0] [2 0 1] [0 2 1] [1 0 2] [2 1 0]] true")
	f(Placement{Brokers: brokers("", "", ""), Partitions: 3, Replicas: 1, Start: 4}, "[[1] [2] [0]] true")
	f(Placement{Brokers: brokers("a", "a", "b", "b"), Partitions: 4, Replicas: 2}, "[[0 2] [1 3] [2 0] [3 1]] true")
	// One broker alone on its rack: racks go before evenness.
	f(Placement{Brokers: brokers("a", "b", "b"), Partitions: 3, Replicas: 2}, "[[0 1] [2 0] [1 0]] true")
	f(Placement{Brokers: fenced(brokers("", "", ""), 1), Partitions: 2, Replicas: 2}, "[[0 2] [2 0]] true")
	f(Placement{Brokers: fenced(brokers("", "", ""), 1), Partitions: 2, Replicas: 3}, "[[0 2 1] [2 0 1]] true")
	f(Placement{Brokers: fenced(brokers("", ""), 0, 1), Partitions: 1, Replicas: 1}, "[] false")
	f(Placement{Brokers: brokers("", ""), Partitions: 1, Replicas: 3}, "[] false")
	f(Placement{Brokers: brokers("", ""), Partitions: 1, Replicas: 0}, "[] false")
	f(Placement{Partitions: 1, Replicas: 1}, "[] false")
	// A topic that grows goes on where it was.
	f(Placement{Brokers: brokers("", "", ""), Partitions: 2, Replicas: 2, Existing: [][]kafka.NodeID{{0, 1}, {9, 2}}}, "[[1 2] [2 0]] true")
}

// TestPlaceRandom holds the goals on random clusters.
func TestPlaceRandom(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		racks := 1 + rnd.IntN(4)
		perRack := 1 + rnd.IntN(4)
		var brokers []Broker
		for i := range racks * perRack {
			brokers = append(brokers, Broker{ID: kafka.NodeID(i * 3), Rack: fmt.Sprint(i % racks)})
		}
		rnd.Shuffle(len(brokers), func(i, j int) { brokers[i], brokers[j] = brokers[j], brokers[i] })
		p := Placement{Brokers: brokers, Partitions: len(brokers) * (1 + rnd.IntN(5)), Replicas: 1 + rnd.IntN(min(4, len(brokers))), Start: rnd.Uint64()}
		got, ok := Place(p)
		if !ok {
			t.Fatalf("seed %d: no placement for %+v", seed, p)
		}
		again, _ := Place(p)
		if fmt.Sprint(got) != fmt.Sprint(again) {
			t.Fatalf("seed %d: two answers to one question", seed)
		}
		rackOf := map[kafka.NodeID]string{}
		for _, b := range brokers {
			rackOf[b.ID] = b.Rack
		}
		leaders, replicas := map[kafka.NodeID]int{}, map[kafka.NodeID]int{}
		for _, list := range got {
			onRack := map[string]int{}
			for k, id := range list {
				if slices.Contains(list[:k], id) {
					t.Fatalf("seed %d: %v names a broker twice", seed, list)
				}
				onRack[rackOf[id]]++
				replicas[id]++
			}
			leaders[list[0]]++
			for r, n := range onRack {
				if most := (p.Replicas + racks - 1) / racks; n > most {
					t.Fatalf("seed %d: %v has %d replicas on rack %s, want at most %d", seed, list, n, r, most)
				}
			}
		}
		for _, b := range brokers {
			if n := leaders[b.ID]; n != p.Partitions/len(brokers) {
				t.Errorf("seed %d: broker %d leads %d of %d partitions on %d brokers", seed, b.ID, n, p.Partitions, len(brokers))
			}
			if want := p.Partitions * p.Replicas / len(brokers); replicas[b.ID] < want-1 || replicas[b.ID] > want+1 {
				t.Errorf("seed %d: broker %d holds %d replicas, want about %d (racks %d, replicas %d)", seed, b.ID, replicas[b.ID], want, racks, p.Replicas)
			}
		}
	}
}

// When a broker dies, its leaderships must fall to all others: that is what the spread of the first followers is for.
func TestFollowersSpread(t *testing.T) {
	var brokers []Broker
	for i := range 6 {
		brokers = append(brokers, Broker{ID: kafka.NodeID(i)})
	}
	got, _ := Place(Placement{Brokers: brokers, Partitions: 6 * 5 * 2, Replicas: 3})
	pairs := map[[2]kafka.NodeID]int{}
	for _, list := range got {
		pairs[[2]kafka.NodeID{list[0], list[1]}]++
	}
	for a := range kafka.NodeID(6) {
		for b := range kafka.NodeID(6) {
			if n := pairs[[2]kafka.NodeID{a, b}]; a != b && (n < 1 || n > 3) {
				t.Errorf("broker %d is the first follower of %d for %d of 10 partitions led there, want about 2", b, a, n)
			}
		}
	}
}

func TestLeader(t *testing.T) {
	f := func(replicas, may []kafka.NodeID, counts map[kafka.NodeID]Leaderships, want kafka.NodeID) {
		t.Helper()
		var count func(kafka.NodeID) Leaderships
		if counts != nil {
			count = func(n kafka.NodeID) Leaderships { return counts[n] }
		}
		if got := Leader(replicas, func(n kafka.NodeID) bool { return slices.Contains(may, n) }, count); got != want {
			t.Errorf("Leader(%v, %v, %v) = %d, want %d", replicas, may, counts, got, want)
		}
	}
	type l = []kafka.NodeID
	counts := map[kafka.NodeID]Leaderships{1: {5, 9}, 2: {4, 30}, 3: {4, 20}}
	f(l{1, 2, 3}, l{1, 2, 3}, counts, 1)
	f(l{1, 2, 3}, l{2, 3}, counts, 3)
	f(l{1, 2, 3}, l{2, 3}, nil, 2)
	f(l{9, 2, 1}, l{1, 2}, counts, 2)
	f(l{9, 8, 7}, l{8, 7}, counts, 8)
	f(l{1, 2}, nil, counts, kafka.NoNode)
}

func BenchmarkPlace(b *testing.B) {
	var brokers []Broker
	for i := range 200 {
		brokers = append(brokers, Broker{ID: kafka.NodeID(i), Rack: fmt.Sprint(i % 3)})
	}
	for b.Loop() {
		Place(Placement{Brokers: brokers, Partitions: 10_000, Replicas: 3})
	}
}
