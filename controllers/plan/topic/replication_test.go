package topic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/controllers/fact"
)

func TestTheReplicationFactorChanges(t *testing.T) {
	s := settled(found(exists(2, 1)))
	replicas(2)(&s)
	expect(t, "more", s, `
reassign t, 0 to [0 1], 1 to [0 2]
Ready=False Moving: the partitions are being given 2 replicas
Replicated=False Moving: 0 of 2 partitions have 2 replicas
again in 1s
`)
	f := exists(2, 2)
	f.Partitions[0] = Partition{Leader: 0, Replicas: []int32{0, 1}, ISR: []int32{0}, Adding: []int32{1}}
	found(f)(&s)
	expect(t, "on its way", s, `
Ready=False Moving: the partitions are being given 2 replicas
Replicated=False Moving: 1 of 2 partitions have 2 replicas
again in 10s
`)
	found(exists(2, 2))(&s)
	p := expect(t, "arrived", s, `
Ready=True Applied: the topic is as the spec says
Replicated=True InSync: every replica is in sync
again in 45s
`)
	s.Topic.Status = p.Status
	replicas(1)(&s)
	expect(t, "fewer", s, `
reassign t, 0 to [0], 1 to [0]
Ready=False Moving: the partitions are being given 1 replica
Replicated=False Moving: 0 of 2 partitions have 1 replica
again in 1s
`)
	replicas(3)(&s)
	for what, brokers := range map[string]fact.Fact[[]Broker]{
		"a broker is away":     fact.Known([]Broker{{ID: 0}, {ID: 1}, {ID: 2, Fenced: true}}),
		"brokers are not told": fact.Unknown[[]Broker]("refused"),
	} {
		s.Brokers = brokers
		expect(t, what, s, `
Ready=False Moving: spec.replicationFactor is 3: the change waits until as many brokers are in service
Replicated=False Moving: 0 of 2 partitions have 3 replicas
again in 30s
`)
	}
}

func TestOtherChangesComeBeforeTheReplicationFactor(t *testing.T) {
	s := settled(found(exists(2, 1)))
	replicas(2)(&s)
	partitions(4)(&s)
	p := Compute(s)
	if len(p.Actions) != 1 || p.Actions[0].String() != "grow t to 4 partitions" {
		t.Error(show(p))
	}
}

func TestReplicasArePlaced(t *testing.T) {
	racks := []Broker{{ID: 0, Rack: "a"}, {ID: 1, Rack: "a"}, {ID: 2, Rack: "b"}, {ID: 3, Rack: "b"}}
	at := func(replicas, isr []int32) Partition {
		return Partition{Leader: replicas[0], Replicas: replicas, ISR: isr}
	}
	for _, r := range []struct {
		what       string
		partitions []Partition
		want       int
		brokers    []Broker
		plan       string
	}{
		{"another rack first", []Partition{at([]int32{0}, []int32{0}), at([]int32{2}, []int32{2})}, 2, racks, "map[0:[0 3] 1:[2 1]]"},
		{"and the emptiest broker of it", []Partition{at([]int32{0}, nil), at([]int32{0}, nil)}, 2, racks, "map[0:[0 2] 1:[0 3]]"},
		{"the second of a rack when each has one", []Partition{at([]int32{0, 2}, nil)}, 3, racks, "map[0:[0 2 1]]"},
		{"no broker that is away", []Partition{at([]int32{0}, nil)}, 2, []Broker{{ID: 0}, {ID: 1, Fenced: true}, {ID: 2}}, "map[0:[0 2]]"},
		{"away: out of sync first", []Partition{at([]int32{0, 1, 2}, []int32{0, 2})}, 2, racks, "map[0:[0 2]]"},
		{"away: of the fuller rack", []Partition{at([]int32{0, 1, 2}, []int32{0, 1, 2})}, 2, racks, "map[0:[0 2]]"},
		{"away: not the one that is in sync", []Partition{at([]int32{0, 1}, []int32{1})}, 1, racks, "map[0:[1]]"},
		{"away: the preferred leader stays", []Partition{at([]int32{1, 0, 2}, []int32{0, 1, 2})}, 1, racks, "map[0:[1]]"},
		{"as many as wanted", []Partition{at([]int32{0, 2}, nil)}, 2, racks, "map[]"},
		{"on its way", []Partition{{Replicas: []int32{0, 1}, Adding: []int32{1}}}, 3, racks, "map[]"},
	} {
		if got := fmt.Sprint(refactor(r.partitions, r.want, r.brokers)); got != r.plan {
			t.Errorf("%s: %s, want %s", r.what, got, r.plan)
		}
	}
}

func TestFewPartitionsMoveAtATime(t *testing.T) {
	f := exists(maxMoving*3, 1)
	for i := range 4 {
		f.Partitions[i].Replicas, f.Partitions[i].Adding = []int32{0, 1}, []int32{1}
	}
	if n := len(refactor(f.Partitions, 2, []Broker{{ID: 0}, {ID: 1}})); n != maxMoving-4 {
		t.Errorf("%d begin beside 4", n)
	}
}

// Whatever the partitions are: a plan has the wanted number of different brokers, moves nothing else, keeps a record in sync, spreads
// over racks when it adds, and after it there is none.
func TestRandomReplicationPlans(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		var brokers []Broker
		for id := range 1 + rnd.IntN(8) {
			brokers = append(brokers, Broker{ID: int32(id), Rack: string(rune('a' + rnd.IntN(3)))})
		}
		rack := func(id int32) string { return brokers[id].Rack }
		var partitions []Partition
		for range 1 + rnd.IntN(maxMoving) {
			all := rnd.Perm(len(brokers))[:1+rnd.IntN(len(brokers))]
			p := Partition{}
			for _, id := range all {
				p.Replicas = append(p.Replicas, int32(id))
			}
			for _, i := range rnd.Perm(len(all))[:1+rnd.IntN(len(all))] {
				p.ISR = append(p.ISR, p.Replicas[i])
			}
			partitions = append(partitions, p)
		}
		want := 1 + rnd.IntN(len(brokers))
		plan := refactor(partitions, want, brokers)
		for n, p := range partitions {
			to, ok := plan[int32(n)]
			if ok != (len(p.Replicas) != want) {
				t.Fatalf("seed %d: partition %d of %+v: planned %v", seed, n, p, ok)
			}
			if !ok {
				continue
			}
			fail := func(what string) { t.Fatalf("seed %d: %s: %+v to %v of %v", seed, what, p, to, brokers) }
			sorted := slices.Clone(to)
			slices.Sort(sorted)
			if len(slices.Compact(sorted)) != want {
				fail("another number of replicas")
			}
			from, into := p.Replicas, to
			if len(from) > len(into) {
				from, into = into, from
			}
			if slices.ContainsFunc(from, func(id int32) bool { return !slices.Contains(into, id) }) {
				fail("replicas move")
			}
			if !slices.ContainsFunc(to, func(id int32) bool { return slices.Contains(p.ISR, id) }) {
				fail("nothing in sync is left")
			}
			counts := func(ids []int32) map[string]int {
				out := map[string]int{}
				for _, id := range ids {
					out[rack(id)]++
				}
				return out
			}
			if len(to) == len(p.Replicas)+1 { // one more, on a rack that has fewest, of those that have a broker to give
				added, before := to[len(to)-1], counts(p.Replicas)
				for _, b := range brokers {
					if !slices.Contains(p.Replicas, b.ID) && before[b.Rack] < before[rack(added)] {
						fail("another rack has fewer")
					}
				}
			}
			partitions[n].Replicas = to
		}
		if again := refactor(partitions, want, brokers); len(again) != 0 {
			t.Fatalf("seed %d: planned again: %v", seed, again)
		}
	}
}
