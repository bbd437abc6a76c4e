package catalogue

import (
	"context"

	"github.com/fairlead-io/fairlead/controllers/brokerclient"
)

// assumedPartitions is how many partitions a topic is taken to get when the brokers decide.
const assumedPartitions = 50

// changes are the batches of a cluster.
type changes struct {
	create   *batch[brokerclient.NewTopic]
	remove   *batch[brokerclient.DoomedTopic]
	grow     [2]*batch[brokerclient.Growth]      // by purpose
	alter    [2]*batch[brokerclient.TopicChange] // by purpose
	reassign *batch[brokerclient.Reassignment]
}

func newChanges(c *Cluster) changes {
	s := changes{
		create: newBatch(c, "create topic", func(t brokerclient.NewTopic) string { return t.Name },
			func(t brokerclient.NewTopic) int {
				if t.Partitions < 0 {
					return assumedPartitions
				}
				return int(t.Partitions)
			}, Brokers.CreateTopics),
		remove: newBatch(c, "delete topic", func(t brokerclient.DoomedTopic) string { return t.Name },
			func(brokerclient.DoomedTopic) int { return 1 }, Brokers.DeleteTopics),
		reassign: newBatch(c, "reassign topic", func(t brokerclient.Reassignment) string { return t.Name },
			func(t brokerclient.Reassignment) int { return len(t.Replicas) }, Brokers.ReassignTopics),
	}
	for _, p := range []brokerclient.Purpose{brokerclient.Apply, brokerclient.Validate} {
		s.grow[p] = newBatch(c, "grow topic", func(t brokerclient.Growth) string { return t.Name },
			func(t brokerclient.Growth) int { return int(t.Partitions) },
			func(b Brokers, ctx context.Context, t []brokerclient.Growth) ([]error, error) {
				return b.GrowTopics(ctx, p, t)
			})
		s.alter[p] = newBatch(c, "alter topic", func(t brokerclient.TopicChange) string { return t.Name },
			func(brokerclient.TopicChange) int { return 1 },
			func(b Brokers, ctx context.Context, t []brokerclient.TopicChange) ([]error, error) {
				return b.AlterTopics(ctx, p, t)
			})
	}
	return s
}

func newBatch[T any](c *Cluster, what string, topic func(T) string, weight func(T) int, send func(Brokers, context.Context, []T) ([]error, error)) *batch[T] {
	return &batch[T]{what: what, topic: topic, weight: weight, running: c.running, send: func(ctx context.Context, all []T) ([]error, error) {
		b, err := c.options.Brokers()
		if err != nil {
			return nil, err
		}
		return send(b, ctx, all)
	}}
}

func (s changes) close() {
	s.create.close()
	s.remove.close()
	s.reassign.close()
	for p := range s.grow {
		s.grow[p].close()
		s.alter[p].close()
	}
}

// The changes below wait for the brokers' answer: nil when it is done, a [*brokerclient.Refusal], or another error when nobody
// answered and nothing is known.

// Create creates a topic.
func (c *Cluster) Create(ctx context.Context, t brokerclient.NewTopic) error {
	return c.changes.create.do(ctx, t)
}

// Delete deletes a topic.
func (c *Cluster) Delete(ctx context.Context, t brokerclient.DoomedTopic) error {
	return c.changes.remove.do(ctx, t)
}

// Grow adds partitions to a topic, or has the brokers judge that.
func (c *Cluster) Grow(ctx context.Context, p brokerclient.Purpose, t brokerclient.Growth) error {
	return c.changes.grow[p].do(ctx, t)
}

// Alter changes settings of a topic, or has the brokers judge that.
func (c *Cluster) Alter(ctx context.Context, p brokerclient.Purpose, t brokerclient.TopicChange) error {
	return c.changes.alter[p].do(ctx, t)
}

// Reassign begins to move replicas of a topic.
func (c *Cluster) Reassign(ctx context.Context, t brokerclient.Reassignment) error {
	return c.changes.reassign.do(ctx, t)
}
