package server

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/peer"
	"github.com/fairlead-io/fairlead/broker/wire"
)

const (
	// spreadLimit bounds how long the answer to a change waits for other brokers. One that counts as being in service and does not answer,
	// since it is frozen or cut off, costs each change as much until it is fenced.
	spreadLimit = 500 * time.Millisecond
	// A broker that is not as far yet is asked again after a pause, which doubles between these.
	firstSpreadPause, lastSpreadPause = time.Millisecond, 16 * time.Millisecond
)

// isChange tells whether a request changes what clients see of the cluster.
func isChange(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.CreateTopicsRequest, *kmsg.DeleteTopicsRequest, *kmsg.CreatePartitionsRequest, *kmsg.AlterConfigsRequest,
		*kmsg.IncrementalAlterConfigsRequest, *kmsg.ElectLeadersRequest, *kmsg.AlterPartitionAssignmentsRequest, *kmsg.UnregisterBrokerRequest:
		return true
	}
	return false
}

// spread waits until every other broker in service has followed the image of this version, within spreadLimit. The change is committed, and
// other brokers learn of it within milliseconds; but a client that was answered goes on elsewhere in less than that, is told of the state
// before and may take it for current for seconds. It is a courtesy: nothing relies on it, and who cannot be asked is not waited for.
func (c *controllerClient) spread(ctx context.Context, version uint64) {
	// Cancelled, not out of time: a deadline that passes closes a control connection, see peer.Client.Do.
	wait, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer time.AfterFunc(spreadLimit, cancel).Stop()
	var asked sync.WaitGroup
	for b := range c.images.Current().Brokers() {
		if b.ID == c.self || b.Fenced {
			continue
		}
		if client := c.peers.client(b.ID); client != nil {
			asked.Go(func() { awaitFollowed(wait, client, version) })
		}
	}
	asked.Wait()
}

// awaitFollowed asks one broker until it has followed a version. It is asked again rather than made to wait, since its replies come in order:
// one that waits would hold up heartbeats.
func awaitFollowed(ctx context.Context, c *peer.Client, version uint64) {
	for pause := firstSpreadPause; ; pause = min(2*pause, lastSpreadPause) {
		body, release, err := c.DoRaw(ctx, wire.KeyFollowed, 0, nil)
		if err != nil {
			return
		}
		there := len(body) == 8 && binary.BigEndian.Uint64(body) >= version
		release()
		if there {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}
