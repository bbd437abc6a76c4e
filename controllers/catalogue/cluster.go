package catalogue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/fact"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

// Times of questions to a cluster.
const (
	// MaxAge is from when on what is known is old: then all topics are asked for at once.
	MaxAge = 30 * time.Second
	// Patience bounds the wait for one answer.
	Patience = 3 * time.Second
	// Pause is between a failed question and the next.
	Pause = 10 * time.Second
	// gather is how long a question waits for others to go with it.
	gather = 50 * time.Millisecond
)

// Brokers ask one cluster.
type Brokers interface {
	Topics(ctx context.Context, names ...string) (map[string]brokerclient.Topic, error)
	TopicSettings(ctx context.Context, names ...string) (map[string]map[string]string, error)
	Moves(context.Context) (map[kafka.TopicPartition]brokerclient.Move, error)
	Registered(context.Context) ([]brokerclient.Broker, error)

	CreateTopics(context.Context, []brokerclient.NewTopic) ([]error, error)
	DeleteTopics(context.Context, []brokerclient.DoomedTopic) ([]error, error)
	GrowTopics(context.Context, brokerclient.Purpose, []brokerclient.Growth) ([]error, error)
	AlterTopics(context.Context, brokerclient.Purpose, []brokerclient.TopicChange) ([]error, error)
	ReassignTopics(context.Context, []brokerclient.Reassignment) ([]error, error)
}

// Options of a [Cluster].
type Options struct {
	// Brokers gives who is asked, each time anew: an address may change.
	Brokers func() (Brokers, error)
	// Managed lists the names of the topics that anybody will ask for. They may be topics that do not exist.
	Managed func() []string
	// Recovered is called when the cluster answers again after it had not. It must not wait.
	Recovered func()
}

// Cluster is the catalogue of one cluster's topics.
type Cluster struct {
	options Options
	running context.Context // ends with the cluster
	stop    context.CancelFunc
	wait    sync.WaitGroup
	changes changes

	// mu guards the following.
	mu      sync.Mutex
	closed  bool
	known   known
	heardAt time.Time // last answer; zero: none
	failed  failure   // of the last question; zero when it was answered
	asking  time.Time // when the question that is on its way began; zero: none is
	next    *question // to be put after it; nil: none
}

// known is what was answered.
type known struct {
	allAt       time.Time        // when the look at all topics began: a topic without an entry did not exist then
	entries     map[string]entry // by name
	undescribed map[string]bool  // topics that existed, and whose settings were not asked for
	brokers     []topic.Broker
}

// entry is one topic as a look that began at a time found it; nil: it did not exist.
type entry struct {
	at    time.Time
	found *topic.Found
}

type failure struct {
	at  time.Time
	why string
}

// question is put once, for all who wait for it.
type question struct {
	names map[string]bool
	all   bool          // about all topics: what is known was old when it was put
	done  chan struct{} // closed when it is answered or failed
}

// Answer is what is known of one topic.
type Answer struct {
	Found   fact.Fact[*topic.Found] // a known nil is a topic that does not exist
	Brokers fact.Fact[[]topic.Broker]
	HeardAt time.Time // when the cluster last answered anything; zero: never
}

func newCluster(o Options) *Cluster {
	c := &Cluster{options: o}
	c.running, c.stop = context.WithCancel(context.Background())
	c.known.entries = map[string]entry{}
	c.changes = newChanges(c)
	return c
}

// Look tells what is known of a topic by a look that began at from or later, and asks when nothing is.
func (c *Cluster) Look(ctx context.Context, name string, from time.Time) Answer {
	c.mu.Lock()
	a, fresh := c.answer(name, from)
	if fresh {
		c.mu.Unlock()
		return a
	}
	q, wait := c.ask(name)
	c.mu.Unlock()
	if !wait {
		return a
	}
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-q.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a, _ = c.answer(name, from)
	return a
}

// answer is what is known from then on, and whether anything is. The caller has the lock.
func (c *Cluster) answer(name string, from time.Time) (Answer, bool) {
	a := Answer{HeardAt: c.heardAt}
	if c.known.brokers != nil {
		a.Brokers = fact.Known(c.known.brokers)
	}
	if e, ok := c.entry(name); ok && !e.at.Before(from) {
		a.Found = fact.Known(e.found)
		return a, true
	}
	why := c.failed.why
	if why == "" {
		why = fmt.Sprintf("no broker answered within %v", Patience)
	}
	a.Found = fact.Unknown[*topic.Found](why)
	return a, false
}

// entry is the newest that is known of a topic.
func (c *Cluster) entry(name string) (entry, bool) {
	e, ok := c.known.entries[name]
	if !ok && !c.known.allAt.IsZero() && !c.known.undescribed[name] {
		return entry{at: c.known.allAt}, true
	}
	return e, ok
}

// ask has a question put about a topic, and tells whether it is worth waiting for. The caller has the lock.
func (c *Cluster) ask(name string) (q *question, wait bool) {
	now := time.Now()
	if c.closed {
		return nil, false
	}
	if c.next == nil {
		c.next = &question{names: map[string]bool{}, done: make(chan struct{})}
	}
	q = c.next
	q.names[name] = true
	wait = c.failed.at.IsZero()
	if c.asking.IsZero() {
		c.asking = now
		c.wait.Add(1)
		go c.put()
	} else if now.Sub(c.asking) > Patience {
		wait = false
	}
	return q, wait
}

func (c *Cluster) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.changes.close()
	c.wait.Wait()
}
