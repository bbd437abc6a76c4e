package topic

import (
	"cmp"
	"slices"
)

// maxMoving bounds the partitions of one topic whose replicas are on their way at a time: copying takes disk and network from clients.
const maxMoving = 10

// target is where the partition's replicas will be when its reassignment, if one runs, is done.
func (p Partition) target() []int32 {
	return slices.DeleteFunc(slices.Clone(p.Replicas), func(id int32) bool { return slices.Contains(p.Removing, id) })
}

func (p Partition) moving() bool { return len(p.Adding)+len(p.Removing) > 0 }

// refactor gives partitions another number of replicas, as many at a time as may move. The caller has seen that there are enough
// brokers in service.
//
// The preferred leader stays the first. A partition that gets more replicas keeps those that it has, and the new ones go, one after
// the other, to a broker in service: on the rack that has fewest of the partition's, then with fewest of the topic's, then with the
// lowest number after the leader's. A partition that gets fewer keeps its preferred leader and then, one after the other, gives up a
// replica: out of sync, then on the rack that has most of the partition's, then on the broker that has most of the topic's, then the
// last. A partition whose in-sync replicas would all go keeps one of them instead.
//
// Example: brokers 0 and 1 on rack a, 2 on rack b; partitions [0] and [1] get two replicas: [0 2], [1 2].
func refactor(partitions []Partition, want int, brokers []Broker) map[int32][]int32 {
	f := factor{brokers: map[int32]Broker{}, ofTopic: map[int32]int{}}
	for _, b := range brokers {
		f.brokers[b.ID] = b
		f.ids = append(f.ids, b.ID)
	}
	slices.Sort(f.ids)
	moving := 0
	for _, p := range partitions {
		for _, id := range p.target() {
			f.ofTopic[id]++
		}
		if p.moving() {
			moving++
		}
	}
	out := map[int32][]int32{}
	for n, p := range partitions {
		t := p.target()
		if p.moving() || len(t) == want || len(t) == 0 {
			continue
		}
		if moving == maxMoving {
			break
		}
		moving++
		for len(t) < want {
			t = f.widen(t)
		}
		for len(t) > want {
			t = f.narrow(t, p.ISR)
		}
		out[int32(n)] = t
	}
	return out
}

type factor struct {
	brokers map[int32]Broker
	ids     []int32       // ascending
	ofTopic map[int32]int // replicas by broker, as planned so far
}

// onRack counts the replicas of a partition on the rack of a broker.
func (f *factor) onRack(replicas []int32, id int32) int {
	n := 0
	for _, r := range replicas {
		if f.brokers[r].Rack == f.brokers[id].Rack {
			n++
		}
	}
	return n
}

func (f *factor) widen(replicas []int32) []int32 {
	free := slices.DeleteFunc(slices.Clone(f.ids), func(id int32) bool {
		return f.brokers[id].Fenced || slices.Contains(replicas, id)
	})
	before := func(id int32) int { // brokers after the leader come first, as in a ring
		if id > replicas[0] {
			return 0
		}
		return 1
	}
	best := slices.MinFunc(free, func(a, b int32) int {
		return cmp.Or(
			cmp.Compare(f.onRack(replicas, a), f.onRack(replicas, b)),
			cmp.Compare(f.ofTopic[a], f.ofTopic[b]),
			cmp.Compare(before(a), before(b)), cmp.Compare(a, b))
	})
	f.ofTopic[best]++
	return append(slices.Clone(replicas), best)
}

func (f *factor) narrow(replicas, isr []int32) []int32 {
	inSync := func(id int32) int {
		if slices.Contains(isr, id) {
			return 1
		}
		return 0
	}
	lastInSync := func(id int32) bool { // of those that are left
		return inSync(id) == 1 && !slices.ContainsFunc(replicas, func(o int32) bool { return o != id && inSync(o) == 1 })
	}
	at := map[int32]int{}
	for i, id := range replicas {
		at[id] = i
	}
	may := slices.DeleteFunc(slices.Clone(replicas[1:]), lastInSync)
	if len(may) == 0 { // of two replicas the follower alone is in sync
		f.ofTopic[replicas[0]]--
		return slices.Clone(replicas[1:])
	}
	worst := slices.MinFunc(may, func(a, b int32) int {
		return cmp.Or(
			cmp.Compare(inSync(a), inSync(b)),
			cmp.Compare(f.onRack(replicas, b), f.onRack(replicas, a)),
			cmp.Compare(f.ofTopic[b], f.ofTopic[a]),
			cmp.Compare(at[b], at[a]))
	})
	f.ofTopic[worst]--
	return slices.DeleteFunc(slices.Clone(replicas), func(id int32) bool { return id == worst })
}
