package catalogue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
)

// brokers are a cluster in memory. Each field may be changed between calls, under the lock.
type brokers struct {
	mu       sync.Mutex
	topics   map[string]brokerclient.Topic
	settings map[string]map[string]string
	asked    []string                    // requests: "topics all", "topics a b", "settings a", "create a b"
	answer   func(context.Context) error // awaited by each request; nil: at once
	lag      int                         // requests for settings that know nothing yet
	refuse   map[string]error            // of changes, by topic
}

func newBrokers(names ...string) *brokers {
	b := &brokers{topics: map[string]brokerclient.Topic{}, settings: map[string]map[string]string{}, refuse: map[string]error{}}
	for _, name := range names {
		b.add(name)
	}
	return b
}

func (b *brokers) add(name string) {
	b.topics[name] = brokerclient.Topic{Name: name, ID: kafka.TopicID{byte(len(b.topics) + 1)}, Partitions: []brokerclient.Partition{{Replicas: []int32{0, 1}, ISR: []int32{0, 1}}}}
	b.settings[name] = map[string]string{"retention.ms": "5"}
}

func (b *brokers) request(ctx context.Context, what string, names ...string) error {
	b.mu.Lock()
	for _, name := range names {
		what += " " + name
	}
	b.asked = append(b.asked, what)
	answer := b.answer
	b.mu.Unlock()
	if answer != nil {
		return answer(ctx)
	}
	return nil
}

// answers has each request from now on await f; nil: nothing.
func (b *brokers) answers(f func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

// take gives the requests since the last call.
func (b *brokers) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.asked
	b.asked = nil
	return asked
}

func (b *brokers) Topics(ctx context.Context, names ...string) (map[string]brokerclient.Topic, error) {
	asked := names
	if names == nil {
		asked = []string{"all"}
	}
	if err := b.request(ctx, "topics", asked...); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := maps.Clone(b.topics)
	maps.DeleteFunc(out, func(name string, _ brokerclient.Topic) bool { return names != nil && !slices.Contains(names, name) })
	return out, nil
}

func (b *brokers) TopicSettings(ctx context.Context, names ...string) (map[string]map[string]string, error) {
	if err := b.request(ctx, "settings", names...); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lag > 0 {
		b.lag--
		return nil, nil
	}
	out := map[string]map[string]string{}
	for _, name := range names {
		if s, ok := b.settings[name]; ok {
			out[name] = s
		}
	}
	return out, nil
}

func (b *brokers) Moves(context.Context) (map[kafka.TopicPartition]brokerclient.Move, error) {
	return map[kafka.TopicPartition]brokerclient.Move{{Topic: "a", Partition: 0}: {Adding: []int32{1}}}, nil
}

func (b *brokers) Registered(context.Context) ([]brokerclient.Broker, error) {
	return []brokerclient.Broker{{ID: 0, Rack: "r"}, {ID: 1, Fenced: true}}, nil
}

func (b *brokers) change(ctx context.Context, what string, names []string) ([]error, error) {
	if err := b.request(ctx, what, names...); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]error, len(names))
	for i, name := range names {
		out[i] = b.refuse[name]
	}
	return out, nil
}

func (b *brokers) CreateTopics(ctx context.Context, all []brokerclient.NewTopic) ([]error, error) {
	return b.change(ctx, "create", namesOf(all, func(t brokerclient.NewTopic) string { return t.Name }))
}

func (b *brokers) DeleteTopics(ctx context.Context, all []brokerclient.DoomedTopic) ([]error, error) {
	return b.change(ctx, "delete", namesOf(all, func(t brokerclient.DoomedTopic) string { return t.Name }))
}

func (b *brokers) GrowTopics(ctx context.Context, p brokerclient.Purpose, all []brokerclient.Growth) ([]error, error) {
	return b.change(ctx, []string{"grow", "judge growth"}[p], namesOf(all, func(t brokerclient.Growth) string { return t.Name }))
}

func (b *brokers) AlterTopics(ctx context.Context, p brokerclient.Purpose, all []brokerclient.TopicChange) ([]error, error) {
	return b.change(ctx, []string{"alter", "judge settings"}[p], namesOf(all, func(t brokerclient.TopicChange) string { return t.Name }))
}

func (b *brokers) ReassignTopics(ctx context.Context, all []brokerclient.Reassignment) ([]error, error) {
	return b.change(ctx, "reassign", namesOf(all, func(t brokerclient.Reassignment) string { return t.Name }))
}

func namesOf[T any](all []T, name func(T) string) []string {
	var out []string
	for _, t := range all {
		out = append(out, name(t))
	}
	return out
}

var errAway = errors.New("connection refused")
