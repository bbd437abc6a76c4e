package catalogue

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

const (
	// describeAttempts bounds how often settings are asked for of topics that one broker knows and another does not know yet.
	describeAttempts = 5
	// describePause is between these.
	describePause = 20 * time.Millisecond
)

// put puts questions until there is none.
func (c *Cluster) put() {
	defer c.wait.Done()
	for {
		c.mu.Lock()
		pause := gather
		if at := c.failed.at; !at.IsZero() {
			pause = max(gather, time.Until(at.Add(Pause)))
		}
		c.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-c.running.Done():
		}
		c.mu.Lock()
		q := c.next
		c.next = nil
		if q == nil || c.closed {
			c.asking = time.Time{}
			if q != nil {
				close(q.done)
			}
			c.mu.Unlock()
			return
		}
		began := time.Now()
		c.asking = began
		q.all = began.Sub(c.known.allAt) > MaxAge
		c.mu.Unlock()
		got, err := c.look(q)
		recovered := c.learn(q, began, got, err)
		if recovered && c.options.Recovered != nil {
			c.options.Recovered()
		}
	}
}

// learn takes an answer over, and tells whether it is the first after a failure.
func (c *Cluster) learn(q *question, began time.Time, got seen, err error) (recovered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(q.done)
	if err != nil {
		c.failed = failure{time.Now(), err.Error()}
		if c.next != nil { // it would fail likewise: the next to come after the pause asks again
			close(c.next.done)
			c.next = nil
		}
		return false
	}
	recovered = !c.failed.at.IsZero()
	c.failed, c.heardAt = failure{}, began
	k := &c.known
	k.brokers = got.brokers
	if q.all {
		k.allAt, k.undescribed = began, got.undescribed
		k.entries = map[string]entry{}
	}
	for name, f := range got.topics {
		k.entries[name] = entry{began, f}
	}
	if !q.all {
		for name := range q.names {
			if _, ok := got.topics[name]; !ok && !got.undescribed[name] {
				k.entries[name] = entry{at: began} // absent
			}
		}
	}
	return recovered
}

// seen is the answer to one question.
type seen struct {
	topics      map[string]*topic.Found
	undescribed map[string]bool // exist, with settings that are not known
	brokers     []topic.Broker
}

// look asks the brokers.
func (c *Cluster) look(q *question) (seen, error) {
	b, err := c.options.Brokers()
	if err != nil {
		return seen{}, err
	}
	var topics map[string]brokerclient.Topic
	var settings map[string]map[string]string
	var moves map[kafka.TopicPartition]brokerclient.Move
	var registered []brokerclient.Broker
	g, ctx := errgroup.WithContext(c.running)
	g.Go(func() error {
		var err error
		moves, err = b.Moves(ctx)
		return err
	})
	g.Go(func() error {
		var err error
		registered, err = b.Registered(ctx)
		return err
	})
	g.Go(func() error {
		names := slices.Sorted(maps.Keys(q.names))
		asked := names
		if q.all {
			asked = nil
			names = append(names, c.options.Managed()...)
		}
		var err error
		if topics, err = b.Topics(ctx, asked...); err != nil {
			return err
		}
		settings, err = describe(ctx, b, topics, names)
		return err
	})
	if err := g.Wait(); err != nil {
		return seen{}, err
	}
	return compose(topics, settings, moves, registered), nil
}

// describe asks for the settings of those of the named topics that exist. The broker that is asked may not know a topic yet that another
// has told of: it is asked again.
func describe(ctx context.Context, b Brokers, topics map[string]brokerclient.Topic, names []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	slices.Sort(names)
	left := slices.DeleteFunc(slices.Compact(names), func(name string) bool { t, ok := topics[name]; return !ok || t.Refusal != nil })
	for range describeAttempts {
		if len(left) == 0 {
			break
		}
		got, err := b.TopicSettings(ctx, left...)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, got)
		left = slices.DeleteFunc(left, func(name string) bool { _, ok := got[name]; return ok })
		if len(left) > 0 {
			select {
			case <-time.After(describePause):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return out, nil
}

// compose puts the answers together.
func compose(topics map[string]brokerclient.Topic, settings map[string]map[string]string, moves map[kafka.TopicPartition]brokerclient.Move, registered []brokerclient.Broker) seen {
	s := seen{topics: map[string]*topic.Found{}, undescribed: map[string]bool{}, brokers: []topic.Broker{}}
	for _, b := range registered {
		s.brokers = append(s.brokers, topic.Broker{ID: b.ID, Rack: b.Rack, Fenced: b.Fenced})
	}
	for name, t := range topics {
		own, ok := settings[name]
		if !ok {
			s.undescribed[name] = true
			continue
		}
		f := &topic.Found{ID: t.ID, Internal: t.Internal, Settings: own, Partitions: make([]topic.Partition, len(t.Partitions))}
		for n, p := range t.Partitions {
			m := moves[kafka.TopicPartition{Topic: name, Partition: int32(n)}]
			f.Partitions[n] = topic.Partition{Leader: p.Leader, Replicas: p.Replicas, ISR: p.ISR, Adding: m.Adding, Removing: m.Removing}
		}
		s.topics[name] = f
	}
	return s
}
