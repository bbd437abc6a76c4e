package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

// topicMemory is what the operator keeps of Topics between two passes: what came of the last plan, so that it does not ask the brokers
// for the same thing all the time. A new operator asks once more.
type topicMemory struct {
	mu     sync.Mutex
	topics map[types.NamespacedName]remembrance
}

// remembrance is of one Topic.
type remembrance struct {
	uid  types.UID
	last topic.Last
	// from is when something was begun that is not seen to be done: what is older does not tell. Zero: nothing was.
	from time.Time
}

func newTopicMemory() *topicMemory {
	return &topicMemory{topics: map[types.NamespacedName]remembrance{}}
}

// of gives what is remembered of the Topic with this UID, and nothing of an earlier one of the same name.
func (m *topicMemory) of(name types.NamespacedName, uid types.UID) remembrance {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.topics[name]; r.uid == uid {
		return r
	}
	return remembrance{uid: uid}
}

// keep remembers. Of a Topic that is as it should be there is nothing to remember.
func (m *topicMemory) keep(name types.NamespacedName, r remembrance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.from.IsZero() && r.last.Refusal == nil && !r.last.Created && r.last.Unsettled == 0 {
		delete(m.topics, name)
		return
	}
	m.topics[name] = r
}

func (m *topicMemory) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.topics, name)
}

// settle takes over what came of a plan that had something to do.
func (r *remembrance) settle(generation int64, out outcome, now time.Time) topic.Last {
	if r.last.Generation != generation {
		r.last = topic.Last{Generation: generation, Created: r.last.Created}
	}
	r.from = now.Add(1) // a look that began just now may not have seen it
	r.last.Created = r.last.Created || out.created
	r.last.Refusal, r.last.Until = out.refusal, time.Time{}
	if out.refusal != nil {
		wait := topic.Retry
		if out.refusal.Transient {
			wait = min(2*topic.Soon<<min(r.last.Unsettled, 4), topic.Retry)
		}
		r.last.Until = now.Add(wait)
	}
	return r.last
}

// saw takes over what the last look of a pass showed, and the plan that came of it.
func (r *remembrance) saw(s topic.Snapshot, p topic.Plan) {
	found, known := s.Found.Get()
	switch {
	case !known:
	case p.Begun:
		r.last.Generation = s.Topic.Generation
		r.last.Created = r.last.Created && found == nil
		r.last.Unsettled++
	default:
		*r = remembrance{uid: r.uid}
	}
}
