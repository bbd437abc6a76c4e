package group

import (
	"container/heap"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// alarm is one deadline: of a member, of a member id that was handed out, or of a group's rebalance. It has at most one
// place in the heap. Moving it later, which every heartbeat does, only notes the new time: the heap is put right
// when the old time comes. So a heartbeat costs nothing and a session costs one heap operation per timeout.
type alarm struct {
	kind   alarmKind
	group  *group
	member *member // sessionAlarm
	id     string  // pendingAlarm: the member id that was handed out

	at    kafka.Elapsed // when it is due; at >= key
	key   kafka.Elapsed // its place in the heap
	index int           // in the heap, plus one; 0: not set
}

type alarmKind uint8

const (
	sessionAlarm alarmKind = iota // a member was silent
	pendingAlarm                  // a member id was never used
	delayAlarm                    // the initial rebalance may start
	joinAlarm                     // the rebalance has waited long enough for members to join
	syncAlarm                     // the rebalance has waited long enough for members to sync
)

// alarms are the deadlines of a machine, earliest first. The order of equal ones follows from the order of calls, so
// runs repeat exactly.
type alarms struct {
	heap []*alarm
}

func (as *alarms) Len() int           { return len(as.heap) }
func (as *alarms) Less(i, j int) bool { return as.heap[i].key < as.heap[j].key }
func (as *alarms) Swap(i, j int) {
	as.heap[i], as.heap[j] = as.heap[j], as.heap[i]
	as.heap[i].index, as.heap[j].index = i+1, j+1
}
func (as *alarms) Push(x any) {
	a := x.(*alarm)
	as.heap = append(as.heap, a)
	a.index = len(as.heap)
}
func (as *alarms) Pop() any {
	last := len(as.heap) - 1
	a := as.heap[last]
	as.heap[last] = nil
	as.heap = as.heap[:last]
	a.index = 0
	return a
}

// set makes the alarm due after d. A negative d is due at once.
func (as *alarms) set(a *alarm, now kafka.Elapsed, d time.Duration) {
	a.at = now.Add(max(d, 0))
	switch {
	case a.index == 0:
		a.key = a.at
		heap.Push(as, a)
	case a.at < a.key:
		a.key = a.at
		heap.Fix(as, a.index-1)
	}
}

// clear forgets the alarm; one that is not set stays so.
func (as *alarms) clear(a *alarm) {
	if a.index > 0 {
		heap.Remove(as, a.index-1)
	}
}

// due takes one alarm whose time has come, or gives nil.
func (as *alarms) due(now kafka.Elapsed) *alarm {
	for len(as.heap) > 0 && as.heap[0].key <= now {
		a := as.heap[0]
		if a.at <= now {
			heap.Pop(as)
			return a
		}
		a.key = a.at
		heap.Fix(as, 0)
	}
	return nil
}

// next is no later than the earliest deadline.
func (as *alarms) next() (kafka.Elapsed, bool) {
	if len(as.heap) == 0 {
		return 0, false
	}
	return as.heap[0].key, true
}
