package handler

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// catchUpLimit bounds how long a produce, with all its partitions, waits for the partitions of this broker to follow an image that is here
// already.
const catchUpLimit = 500 * time.Millisecond

// catchUp waits until the partitions know that this broker leads one, when the newest image says so and they are still behind: for
// milliseconds after a topic was created or a leader elected. Another broker may have sent the client here by that image; refusing it
// would cost it a round of metadata, and a client without idempotence the order of its records. The connection waits, so that what it
// pipelines keeps its order.
//
// until is when the request's patience ends; zero while nothing was waited for.
func (h *Handler) catchUp(c *call, until *time.Time, topic string, id kafka.TopicID, n int32) {
	newest, applied := h.Newest(), h.Images.Current()
	if newest.Version() == applied.Version() {
		return
	}
	p := statePartition(newest, topic, id, n)
	if p == nil || p.Leader != h.Node {
		return
	}
	if before := statePartition(applied, topic, id, n); before != nil && before.LeaderEpoch == p.LeaderEpoch {
		return
	}
	if until.IsZero() {
		*until = time.Now().Add(catchUpLimit)
	}
	ctx, cancel := context.WithDeadline(c.Conn.Context, *until)
	defer cancel()
	h.Images.Await(ctx, func(i *metadata.Image) bool { return i.Version() >= newest.Version() })
}

// statePartition is a partition in an image, by its topic's name or, when that is empty, id.
func statePartition(image *metadata.Image, topic string, id kafka.TopicID, n int32) *metadata.Partition {
	t := image.TopicByName(topic)
	if topic == "" {
		t = image.TopicByID(id)
	}
	if t == nil {
		return nil
	}
	return t.Partition(n)
}
