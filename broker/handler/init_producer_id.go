package handler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// initProducerIDWait bounds the wait for a block of ids from the controller.
const initProducerIDWait = 10 * time.Second

// initProducerID answers InitProducerId 0 to 5 for idempotent producers: a fresh id with epoch 0. Transactional ones are
// told that there is no coordinator for them.
func (h *Handler) initProducerID(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.InitProducerIDRequest)
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if req.TransactionalID != nil {
		resp.ErrorCode = int16(kafka.NotCoordinator)
		if *req.TransactionalID == "" {
			resp.ErrorCode = int16(kafka.InvalidRequest)
		}
		return c.answer(resp)
	}
	if (req.ProducerID == -1) != (req.ProducerEpoch == -1) { // one of the two means nothing
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return c.answer(resp)
	}
	if id, ok := h.producers.tryNext(); ok {
		resp.ProducerID, resp.ProducerEpoch = int64(id), 0
		return c.answer(resp)
	}
	return c.later(initProducerIDWait, func(ctx context.Context) kmsg.Response {
		id, err := h.producers.next(ctx)
		if err != nil {
			h.Log.V(1).Info("no block of producer ids", "error", err.Error())
			resp.ErrorCode = int16(kafka.CoordinatorLoadInProgress) // clients repeat it
			return resp
		}
		resp.ProducerID, resp.ProducerEpoch = int64(id), 0
		return resp
	})
}

// producerIDs hands out producer ids from blocks that the controller gives. An id is never given twice; ids of a block
// that is not used up when the process ends are lost.
type producerIDs struct {
	allocate func(context.Context) (first kafka.ProducerID, n int32, err error)

	fetching chan struct{} // has room for one: who fetches a block puts a token in

	mu        sync.Mutex
	from, end kafka.ProducerID // [from, end) is free; guarded by mu
}

// tryNext gives an id if the block has one left.
func (p *producerIDs) tryNext() (kafka.ProducerID, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from >= p.end {
		return kafka.NoProducerID, false
	}
	p.from++
	return p.from - 1, true
}

// next gives an id and fetches a block when the last one is used up.
func (p *producerIDs) next(ctx context.Context) (kafka.ProducerID, error) {
	select {
	case p.fetching <- struct{}{}:
	case <-ctx.Done():
		return kafka.NoProducerID, fmt.Errorf("wait for another request's block of producer ids: %w", ctx.Err())
	}
	defer func() { <-p.fetching }()
	if id, ok := p.tryNext(); ok {
		return id, nil // another request fetched a block meanwhile
	}
	first, n, err := p.allocate(ctx)
	if err != nil {
		return kafka.NoProducerID, err
	}
	p.mu.Lock()
	p.from, p.end = first, first+kafka.ProducerID(n)
	p.mu.Unlock()
	id, ok := p.tryNext()
	if !ok {
		return kafka.NoProducerID, fmt.Errorf("allocate producer ids: a block of %d", n)
	}
	return id, nil
}

// allocateProducerIDs asks the controller for a block.
func (h *Handler) allocateProducerIDs(ctx context.Context) (kafka.ProducerID, int32, error) {
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = int32(h.Node), -1
	if b := h.Images.Current().Broker(h.Node); b != nil {
		req.BrokerEpoch = int64(b.Epoch)
	}
	r, err := h.Controller.Do(ctx, req)
	if err != nil {
		return 0, 0, fmt.Errorf("allocate producer ids: %w", err)
	}
	resp := r.(*kmsg.AllocateProducerIDsResponse)
	if code := kafka.ErrorCode(resp.ErrorCode); code != kafka.None {
		return 0, 0, fmt.Errorf("allocate producer ids: %w", code.Err())
	}
	return kafka.ProducerID(resp.ProducerIDStart), resp.ProducerIDLen, nil
}
