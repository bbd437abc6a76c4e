package fetchsession

import (
	"cmp"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Options are a cache's bounds and seams.
type Options struct {
	Slots     int           // default 1000: max.incremental.fetch.session.cache.slots
	IdleAfter time.Duration // default 2 minutes
	// MaxPartitions bounds the partitions of all sessions, some 300 bytes each; default 2^21. A fetcher may name any number of
	// them, also such as do not exist, a few more with every fetch.
	MaxPartitions int
	// NewID gives random bits for session ids. Whoever guesses an id can end the session.
	NewID func() uint32
}

// Cache is a broker's fetch sessions.
type Cache struct {
	o        Options
	sessions map[int32]*session
	// partitions is the sum of the sessions' sizes.
	partitions int
	evictions  uint64
	detached   []any // of sessions that ended
}

// NewCache makes an empty cache.
func NewCache(o Options) *Cache {
	o.Slots = cmp.Or(o.Slots, 1000)
	o.IdleAfter = cmp.Or(o.IdleAfter, 2*time.Minute)
	o.MaxPartitions = cmp.Or(o.MaxPartitions, 1<<21)
	return &Cache{o: o, sessions: map[int32]*session{}}
}

// Open begins a fetch. A code other than None refuses the whole request, and then there is no fetch to finish.
func (c *Cache) Open(req *kmsg.FetchRequest, topics Topics, now kafka.Elapsed) (*Fetch, kafka.ErrorCode) {
	if req.Version < versionSessions || req.SessionEpoch == epochInitial || req.SessionEpoch == epochFinal {
		return c.openFull(req, topics), kafka.None
	}
	s := c.sessions[req.SessionID]
	switch {
	case s == nil:
		return nil, kafka.FetchSessionIDNotFound
	case s.busy || s.epoch != req.SessionEpoch:
		return nil, kafka.InvalidFetchSessionEpoch
	case s.byID != (req.Version >= versionTopicIDs):
		return nil, kafka.FetchSessionTopicIDError
	}
	s.update(req)
	if c.partitions-s.size+len(s.nodes) > c.o.MaxPartitions {
		c.remove(s)
		return nil, kafka.FetchSessionIDNotFound // it begins again with what it needs
	}
	s.resolve(topics)
	s.busy = true
	s.epoch = nextEpoch(s.epoch)
	s.used = now
	c.count(s, len(s.nodes))
	if s.size == 0 {
		c.remove(s) // the fetcher has forgotten everything
		s.id = 0
	}
	return &Fetch{session: s, incremental: true}, kafka.None
}

// openFull begins a fetch that names all its partitions. The session that it mentions ends.
func (c *Cache) openFull(req *kmsg.FetchRequest, topics Topics) *Fetch {
	if s := c.sessions[req.SessionID]; s != nil && req.Version >= versionSessions {
		c.remove(s)
	}
	s := newSession(req)
	s.update(req)
	s.resolve(topics)
	return &Fetch{session: s, wantsPlace: req.Version >= versionSessions && req.SessionEpoch == epochInitial}
}

// Finish ends a fetch and gives the session id of the response, 0 when there is no session.
func (c *Cache) Finish(f *Fetch, now kafka.Elapsed) int32 {
	s := f.session
	s.busy = false
	s.rotate(f.served)
	f.served = nil
	c.release(s)
	if f.wantsPlace && c.makePlace(s, now) {
		s.id = c.freeID()
		s.epoch = nextEpoch(epochInitial)
		s.created, s.used = now, now
		c.sessions[s.id] = s
		c.count(s, len(s.nodes))
	}
	return s.id
}

// Abandon ends a fetch whose response will not be sent: a new session is not kept.
func (c *Cache) Abandon(f *Fetch) {
	f.session.busy = false
	f.served = nil
	c.release(f.session)
}

// Detached gives what was attached to sessions that ended since the last call, for the caller to close.
func (c *Cache) Detached() []any {
	d := c.detached
	c.detached = nil
	return d
}

// DetachIdle takes what is attached from sessions that were not used for IdleAfter: their fetchers may be gone. The sessions stay.
func (c *Cache) DetachIdle(now kafka.Elapsed) {
	for _, s := range c.sessions { // in any order: what comes out is closed, no more
		if !s.busy && now.Sub(s.used) > c.o.IdleAfter {
			c.detach(s)
		}
	}
}

func (c *Cache) detach(s *session) {
	if s.attached != nil {
		c.detached = append(c.detached, s.attached)
		s.attached = nil
	}
}

// release is the end of a fetch: what belongs to a session that ended meanwhile is not needed any more.
func (c *Cache) release(s *session) {
	s.changed, s.forgotten = nil, nil
	if c.sessions[s.id] != s {
		c.detach(s)
	}
}

// makePlace tells whether there is a place for a session, evicting another if the rules of the package comment allow it.
func (c *Cache) makePlace(s *session, now kafka.Elapsed) bool {
	if c.partitions+len(s.nodes) > c.o.MaxPartitions {
		return false
	}
	if len(c.sessions) < c.o.Slots {
		return true
	}
	var oldest, least *session
	for _, o := range c.sessions { // the result does not depend on the order
		if oldest == nil || cmp.Or(cmp.Compare(o.used, oldest.used), cmp.Compare(o.id, oldest.id)) < 0 {
			oldest = o
		}
		evictable := now.Sub(o.created) > c.o.IdleAfter || s.privileged && !o.privileged
		if evictable && (least == nil || o.compare(least) < 0) {
			least = o
		}
	}
	victim := oldest
	if victim == nil || now.Sub(victim.used) <= c.o.IdleAfter {
		victim = least
		// The newcomer's id is 0, so that among equals it does not win.
		if victim == nil || victim.compare(&session{privileged: s.privileged, size: len(s.nodes)}) >= 0 {
			return false
		}
	}
	c.remove(victim)
	c.evictions++
	return true
}

// compare orders sessions by worth: consumers before followers, then fewer partitions before more.
func (s *session) compare(o *session) int {
	if s.privileged != o.privileged {
		if o.privileged {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(s.size, o.size), cmp.Compare(s.id, o.id))
}

// freeID is a random positive id that is not in use.
func (c *Cache) freeID() int32 {
	const positive = 1<<31 - 1
	id := int32(c.o.NewID() & positive)
	for id == 0 || c.sessions[id] != nil {
		id = (id + 1) & positive
	}
	return id
}

func (c *Cache) count(s *session, size int) {
	if c.sessions[s.id] != s {
		return
	}
	c.partitions += size - s.size
	s.size = size
}

// remove ends a session. A fetch under way on it goes on, and its response still has the id: the next is refused.
func (c *Cache) remove(s *session) {
	c.count(s, 0)
	delete(c.sessions, s.id)
	if !s.busy {
		c.detach(s)
	}
}

// Stats are the cache's counters; Sessions and Partitions are gauges.
type Stats struct {
	Sessions, Partitions int
	Evictions            uint64
}

// Stats are the counters so far.
func (c *Cache) Stats() Stats {
	return Stats{Sessions: len(c.sessions), Partitions: c.partitions, Evictions: c.evictions}
}

// EachAttached gives what is attached to the sessions, in no order.
func (c *Cache) EachAttached(do func(any)) {
	for _, s := range c.sessions {
		if s.attached != nil {
			do(s.attached)
		}
	}
}
