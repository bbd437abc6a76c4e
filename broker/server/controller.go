package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/handler"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/peer"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// controllerRetry is the pause before a request for the controller is tried again when its leader is unknown or gone.
const controllerRetry = 20 * time.Millisecond

// controllerClient carries requests to the quorum's leader: this broker's own node, or over the control connection.
type controllerClient struct {
	self   kafka.NodeID
	quorum *quorum.Runner
	peers  *peers
	// images are the quorum's; followed are those that this broker's partitions have followed.
	images, followed *images
	clock            clock
}

// Status is what this broker knows of the quorum.
func (c *controllerClient) Status() quorum.Status { return c.quorum.Status() }

// Do sends a request, again and again while there is no leader to take it, until the context ends, and answers when this broker has followed
// what was decided, and so have the others if clients may look at it from there: see spread. See handler.Controller.
func (c *controllerClient) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	resp, index, err := c.persist(ctx, req)
	if err == nil {
		c.followed.Await(ctx, func(i *metadata.Image) bool { return i.Version() >= index })
		if isChange(req) {
			c.spread(ctx, index)
		}
	}
	return resp, err
}

// persist sends a request until the quorum's leader takes it or the context ends. It gives the version of the image that holds what was
// decided, and waits for nothing more.
func (c *controllerClient) persist(ctx context.Context, req kmsg.Request) (kmsg.Response, uint64, error) {
	for {
		resp, index, err := c.once(ctx, req)
		if err == nil || ctx.Err() != nil || errors.Is(err, quorum.ErrTooLarge) {
			return resp, index, err
		}
		select {
		case <-time.After(controllerRetry):
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		}
	}
}

// once makes one attempt.
func (c *controllerClient) once(ctx context.Context, req kmsg.Request) (resp kmsg.Response, index uint64, err error) {
	leader := c.quorum.Status().Leader
	if leader == kafka.NoNode {
		return nil, 0, &quorum.NotLeaderError{Leader: kafka.NoNode}
	}
	if leader == c.self {
		if q, ok := req.(*kmsg.DescribeQuorumRequest); ok {
			resp, err = c.describe(q)
		} else {
			resp, err = c.decide(ctx, req)
		}
		return resp, c.images.Current().Version(), err
	}
	client := c.peers.client(leader)
	if client == nil {
		return nil, 0, quorum.ErrStopped
	}
	if ends, ok := req.(*metactl.LogEndsRequest); ok {
		resp, err = c.reportEnds(ctx, client, ends)
		return resp, 0, err
	}
	resp, release, err := client.Do(ctx, req)
	if err != nil {
		return nil, 0, fmt.Errorf("ask the quorum leader, broker %d: %w", leader, err)
	}
	index, ok := takeIndex(resp)
	release() // nothing else in a controller's response is a view of its buffer
	if !ok {
		return nil, 0, &quorum.NotLeaderError{Leader: kafka.NoNode}
	}
	return resp, index, nil
}

// describe is this broker's own answer to DescribeQuorum, which the controller does not decide: the quorum's node knows it.
func (c *controllerClient) describe(req *kmsg.DescribeQuorumRequest) (kmsg.Response, error) {
	s := c.quorum.Status()
	if !s.Leading { // not yet, or not any more
		return nil, &quorum.NotLeaderError{Leader: kafka.NoNode}
	}
	return handler.DescribeQuorum(s, c.images.Current(), c.clock, req), nil
}

// reportEnds sends a report of log ends, which is none of Kafka's requests, under the quorum's private key.
func (c *controllerClient) reportEnds(ctx context.Context, client *peer.Client, r *metactl.LogEndsRequest) (kmsg.Response, error) {
	body, release, err := client.DoRaw(ctx, wire.KeyQuorum, 0, r.AppendTo(nil))
	if err != nil {
		return nil, fmt.Errorf("report log ends: %w", err)
	}
	defer release()
	resp := new(metactl.LogEndsResponse)
	return resp, resp.ReadFrom(body)
}

// decide has this broker's own node decide; the answer comes when the decision is in this broker's image.
func (c *controllerClient) decide(ctx context.Context, cmd any) (kmsg.Response, error) {
	type outcome struct {
		reply any
		err   error
	}
	done := make(chan outcome, 1)
	c.quorum.Submit(cmd, func(reply any, err error) { done <- outcome{reply, err} })
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		resp, _ := o.reply.(kmsg.Response)
		return resp, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Responses between brokers carry in a private tag the version of the image that holds what they tell, so that the broker that
// asked can wait until it knows it too. A response without it was refused: the one who was asked does not lead.
const indexTag = 0x7f00

// giveIndex adds the tag.
func giveIndex(resp kmsg.Response, index uint64) {
	if t := tags(resp); t != nil {
		t.Set(indexTag, binary.BigEndian.AppendUint64(nil, index))
	}
}

// takeIndex removes the tag, since the response may go on to a client.
func takeIndex(resp kmsg.Response) (uint64, bool) {
	t := tags(resp)
	if t == nil {
		return 0, false
	}
	var index uint64
	found := false
	var rest kmsg.Tags
	t.Each(func(key uint32, value []byte) {
		if key == indexTag && len(value) == 8 {
			index, found = binary.BigEndian.Uint64(value), true
			return
		}
		rest.Set(key, value)
	})
	*t = rest
	return index, found
}

// tags are the tags of a response that the controller gives; nil for other kinds, which is a mistake of the caller.
func tags(resp kmsg.Response) *kmsg.Tags {
	switch r := resp.(type) {
	case *kmsg.AllocateProducerIDsResponse:
		return &r.UnknownTags
	case *kmsg.AlterConfigsResponse:
		return &r.UnknownTags
	case *kmsg.AlterPartitionAssignmentsResponse:
		return &r.UnknownTags
	case *kmsg.AlterPartitionResponse:
		return &r.UnknownTags
	case *kmsg.BrokerHeartbeatResponse:
		return &r.UnknownTags
	case *kmsg.BrokerRegistrationResponse:
		return &r.UnknownTags
	case *kmsg.CreatePartitionsResponse:
		return &r.UnknownTags
	case *kmsg.CreateTopicsResponse:
		return &r.UnknownTags
	case *kmsg.DeleteTopicsResponse:
		return &r.UnknownTags
	case *kmsg.DescribeQuorumResponse:
		return &r.UnknownTags
	case *kmsg.ElectLeadersResponse:
		return &r.UnknownTags
	case *kmsg.IncrementalAlterConfigsResponse:
		return &r.UnknownTags
	case *kmsg.ListPartitionReassignmentsResponse:
		return &r.UnknownTags
	case *kmsg.UnregisterBrokerResponse:
		return &r.UnknownTags
	}
	return nil
}
