package handler

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// giveBlocks is a controller that gives blocks of n producer ids.
func (w *world) giveBlocks(n int32) {
	next := int64(100)
	w.controller.answer = func(_ context.Context, r kmsg.Request) (kmsg.Response, error) {
		req := r.(*kmsg.AllocateProducerIDsRequest)
		if kafka.NodeID(req.BrokerID) != self || req.BrokerEpoch != int64(self) {
			w.t.Errorf("asked as broker %d with epoch %d", req.BrokerID, req.BrokerEpoch)
		}
		resp := kmsg.NewPtrAllocateProducerIDsResponse()
		resp.ProducerIDStart, resp.ProducerIDLen = next, n
		next += int64(n)
		return resp, nil
	}
}

func initProducerID(version int16) *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = version
	return req
}

// TestNoProducerIDIsGivenTwice: many askers at a time, from several blocks.
func TestNoProducerIDIsGivenTwice(t *testing.T) {
	inWorld(t, func(w *world) {
		const block, askers = 10, 95
		w.giveBlocks(block)
		var all []*asked
		for i := range askers {
			all = append(all, w.send(initProducerID(int16(i%6))))
		}
		seen := map[int64]bool{}
		for _, a := range all {
			resp := a.response().(*kmsg.InitProducerIDResponse)
			if resp.ErrorCode != 0 || resp.ProducerEpoch != 0 || seen[resp.ProducerID] || resp.ProducerID < 100 || resp.ProducerID >= 200 {
				t.Fatalf("%+v", resp)
			}
			seen[resp.ProducerID] = true
		}
		if n := w.controller.count(); n != 10 {
			t.Errorf("%d blocks were asked for", n)
		}
	})
}

func TestProducerIDsThatCannotBeGiven(t *testing.T) {
	inWorld(t, func(w *world) {
		w.code("no controller", ask[*kmsg.InitProducerIDResponse](w, initProducerID(5)).ErrorCode, kafka.CoordinatorLoadInProgress)
		w.controller.answer = func(context.Context, kmsg.Request) (kmsg.Response, error) { return nil, errors.New("gone") }
		w.code("no answer", ask[*kmsg.InitProducerIDResponse](w, initProducerID(5)).ErrorCode, kafka.CoordinatorLoadInProgress)
		w.controller.answer = func(context.Context, kmsg.Request) (kmsg.Response, error) {
			resp := kmsg.NewPtrAllocateProducerIDsResponse()
			resp.ErrorCode = int16(kafka.StaleBrokerEpoch)
			return resp, nil
		}
		w.code("a stale broker epoch", ask[*kmsg.InitProducerIDResponse](w, initProducerID(5)).ErrorCode, kafka.CoordinatorLoadInProgress)
		w.giveBlocks(0)
		resp := ask[*kmsg.InitProducerIDResponse](w, initProducerID(0))
		w.code("an empty block", resp.ErrorCode, kafka.CoordinatorLoadInProgress)
		if resp.ProducerID != -1 || resp.ProducerEpoch != -1 {
			t.Errorf("%+v", resp)
		}
		w.giveBlocks(1)
		w.code("at last", ask[*kmsg.InitProducerIDResponse](w, initProducerID(0)).ErrorCode, kafka.None)

		for version := int16(3); version <= 5; version++ {
			half := initProducerID(version)
			half.ProducerEpoch = 4
			w.code("an epoch without an id", ask[*kmsg.InitProducerIDResponse](w, half).ErrorCode, kafka.InvalidRequest)
			half.ProducerID, half.ProducerEpoch = 4, -1
			w.code("an id without an epoch", ask[*kmsg.InitProducerIDResponse](w, half).ErrorCode, kafka.InvalidRequest)
		}
		for id, want := range map[string]kafka.ErrorCode{"tx": kafka.NotCoordinator, "": kafka.InvalidRequest} {
			req := initProducerID(4)
			req.TransactionalID = &id
			w.code("transactional id "+id, ask[*kmsg.InitProducerIDResponse](w, req).ErrorCode, want)
		}
	})
}

// Who waits for the block that another request fetches goes when its own client does.
func TestNobodyWaitsForABlockInVain(t *testing.T) {
	inWorld(t, func(w *world) {
		asked := make(chan struct{})
		p := &producerIDs{fetching: make(chan struct{}, 1), allocate: func(ctx context.Context) (kafka.ProducerID, int32, error) {
			close(asked)
			<-ctx.Done()
			return 0, 0, ctx.Err()
		}}
		first, end := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { _, err := p.next(first); done <- err }()
		<-asked
		gone, leave := context.WithCancel(context.Background())
		leave()
		if _, err := p.next(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("the second: %v", err)
		}
		end()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the first: %v", err)
		}
	})
}
