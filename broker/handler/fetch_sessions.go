package handler

import (
	"math/rand/v2"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/fetchsession"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// fetchSessions is the broker's cache of fetch sessions with the lock that it asks for.
type fetchSessions struct {
	mu    sync.Mutex
	cache *fetchsession.Cache // guarded by mu
}

func newFetchSessions(slots int) *fetchSessions {
	return &fetchSessions{cache: fetchsession.NewCache(fetchsession.Options{Slots: slots, NewID: rand.Uint32})}
}

func (s *fetchSessions) open(req *kmsg.FetchRequest, image *metadata.Image, now kafka.Elapsed) (*fetchsession.Fetch, kafka.ErrorCode) {
	s.mu.Lock()
	f, code := s.cache.Open(req, ImageTopics{image}, now)
	s.unlock()
	return f, code
}

func (s *fetchSessions) finish(f *fetchsession.Fetch, now kafka.Elapsed) int32 {
	s.mu.Lock()
	id := s.cache.Finish(f, now)
	s.unlock()
	return id
}

// abandon ends a fetch whose response nobody gets.
func (s *fetchSessions) abandon(f *fetchsession.Fetch) {
	s.mu.Lock()
	s.cache.Abandon(f)
	s.unlock()
}

// detachIdle ends the watches of sessions that nobody seems to use. The sessions stay.
func (s *fetchSessions) detachIdle(now kafka.Elapsed) {
	s.mu.Lock()
	s.cache.DetachIdle(now)
	s.unlock()
}

// unlock ends the watches of sessions that ended, without the lock.
func (s *fetchSessions) unlock() {
	ended := s.cache.Detached()
	s.mu.Unlock()
	for _, w := range ended {
		w.(*sessionWatch).stop()
	}
}

// ImageTopics looks topics up in one image.
type ImageTopics struct{ *metadata.Image }

// TopicName is the name of the topic with an id.
func (t ImageTopics) TopicName(id kafka.TopicID) (string, bool) {
	if topic := t.TopicByID(id); topic != nil {
		return topic.Name, true
	}
	return "", false
}

// TopicID is the id of the topic with a name.
func (t ImageTopics) TopicID(name string) (kafka.TopicID, bool) {
	if topic := t.TopicByName(name); topic != nil {
		return topic.ID, true
	}
	return kafka.TopicID{}, false
}
