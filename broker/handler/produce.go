package handler

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
)

// produce answers Produce 3 to 13; 0 to 2 are advertised and close the connection (KAFKA-18659).
//
//	v8   errors of single records (KIP-467)
//	v10  the leader, when it is not us (KIP-951)
//	v13  topics by id (KIP-516)
//
// Batches are appended in the order of the request before the next request of the connection is read, so that what a
// producer pipelines keeps its order; replication is waited for by the reply alone. With acks=0 there is no reply, and an error
// closes the connection, which is how the client learns of it. Transactional batches are refused: INVALID_TXN_STATE.
func (h *Handler) produce(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.ProduceRequest)
	dropDoubled(req)
	p := &produceCall{call: c, handler: h, acks: req.Acks, resp: newProduceResponse(req), reply: conn.Pending()}
	c.Retain() // records are views of the request's bytes
	// One more than there are partitions: the loop itself, so that nothing is sent before it is through.
	p.left.Store(1)
	now, wall := h.Clock.Elapsed(), h.Clock.Wall()
	var patience time.Time
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			asked := &req.Topics[i].Partitions[j]
			p.left.Add(1)
			h.produceTo(c, &patience, req, &req.Topics[i], asked, partition.ProduceRequest{
				Version: req.Version, Records: asked.Records, Acks: req.Acks, LeaderEpoch: kafka.NoLeaderEpoch,
				Timeout: time.Duration(req.TimeoutMillis) * time.Millisecond, Wall: wall, Now: now,
			}, func(result partition.ProduceResult) { p.set(i, j, result) })
		}
	}
	p.done()
	return p.reply
}

// produceTo hands one partition's records over, or refuses them.
func (h *Handler) produceTo(c *call, patience *time.Time, req *kmsg.ProduceRequest, t *kmsg.ProduceRequestTopic, asked *kmsg.ProduceRequestTopicPartition, r partition.ProduceRequest, done func(partition.ProduceResult)) {
	refuse := func(code kafka.ErrorCode, message string) {
		result := partition.ProduceResult{Code: code, Message: message, BaseOffset: kafka.NoOffset, LogStart: kafka.NoOffset,
			LogAppendTime: kafka.NoTimestamp, Leader: partition.Leader{ID: kafka.NoNode, Epoch: kafka.NoLeaderEpoch}}
		if code == kafka.NotLeaderOrFollower {
			result.Leader = c.view().leaderOf(t.Topic, t.TopicID, asked.Partition)
		}
		done(result)
	}
	if r.Acks < partition.AcksAll || r.Acks > partition.AcksLeader {
		refuse(kafka.InvalidRequiredAcks, "")
		return
	}
	h.catchUp(c, patience, t.Topic, t.TopicID, asked.Partition)
	var target *partition.Partition
	var code kafka.ErrorCode
	if req.Version >= 13 {
		target, code = h.partitionByID(kafka.TopicIDPartition{TopicID: t.TopicID, Partition: asked.Partition})
	} else {
		target, code = h.partitionOf(kafka.TopicPartition{Topic: t.Topic, Partition: asked.Partition})
	}
	if code != kafka.None {
		refuse(code, "")
		return
	}
	if isInternal(target.TopicPartition().Topic) {
		refuse(kafka.InvalidTopicException, "The request attempted to perform an operation on an invalid topic.")
		return
	}
	if batch, _, err := record.Next(asked.Records); err == nil && batch.IsTransactional() {
		if req.TransactionID == nil {
			refuse(kafka.TransactionalIDAuthorizationFailed, "a transactional batch in a request without transactional id")
			return
		}
		refuse(kafka.InvalidTxnState, "transactions are not served")
		return
	}
	target.Produce(r, done)
}

// dropDoubled leaves of a partition that a request names more than once the last mention alone, as Kafka does.
func dropDoubled(req *kmsg.ProduceRequest) {
	if len(req.Topics) == 1 && len(req.Topics[0].Partitions) == 1 {
		return
	}
	type name struct {
		topic     string
		id        [16]byte
		partition int32
	}
	last := make(map[name]*kmsg.ProduceRequestTopicPartition)
	mentions := 0
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			mentions++
			last[name{t.Topic, t.TopicID, t.Partitions[j].Partition}] = &t.Partitions[j]
		}
	}
	if mentions == len(last) {
		return
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		var kept []kmsg.ProduceRequestTopicPartition
		for j := range t.Partitions {
			if last[name{t.Topic, t.TopicID, t.Partitions[j].Partition}] == &t.Partitions[j] {
				kept = append(kept, t.Partitions[j])
			}
		}
		t.Partitions = kept
	}
	req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.ProduceRequestTopic) bool { return len(t.Partitions) == 0 })
}

// produceCall collects the results of one request's partitions.
type produceCall struct {
	*call
	handler *Handler
	acks    int16
	resp    *kmsg.ProduceResponse
	reply   *conn.Reply
	left    atomic.Int32 // results that are missing
	failed  atomic.Bool
}

func newProduceResponse(req *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	resp := kmsg.NewPtrProduceResponse()
	resp.Topics = make([]kmsg.ProduceResponseTopic, len(req.Topics))
	for i := range req.Topics {
		resp.Topics[i].Topic, resp.Topics[i].TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
		resp.Topics[i].Partitions = make([]kmsg.ProduceResponseTopicPartition, len(req.Topics[i].Partitions))
		for j := range req.Topics[i].Partitions {
			resp.Topics[i].Partitions[j] = kmsg.NewProduceResponseTopicPartition()
			resp.Topics[i].Partitions[j].Partition = req.Topics[i].Partitions[j].Partition
		}
	}
	return resp
}

// set stores one partition's result; each has a place of its own, so results may come at the same time.
func (p *produceCall) set(topic, index int, r partition.ProduceResult) {
	out := &p.resp.Topics[topic].Partitions[index]
	out.ErrorCode, out.ErrorMessage = int16(r.Code), optional(r.Message)
	out.BaseOffset, out.LogAppendTime, out.LogStartOffset = int64(r.BaseOffset), int64(r.LogAppendTime), int64(r.LogStart)
	for _, e := range r.RecordErrors {
		er := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		er.RelativeOffset, er.ErrorMessage = e.Index, optional(e.Message)
		out.ErrorRecords = append(out.ErrorRecords, er)
	}
	if r.Code != kafka.None {
		p.failed.Store(true)
	}
	if p.Header.Version >= 10 && (r.Code == kafka.NotLeaderOrFollower || r.Code == kafka.FencedLeaderEpoch) {
		out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = int32(r.Leader.ID), int32(r.Leader.Epoch)
	}
	p.done()
}

// done counts one result, and replies after the last.
func (p *produceCall) done() {
	if p.left.Add(-1) > 0 {
		return
	}
	switch {
	case p.acks != partition.AcksNone:
		p.addLeaders()
		p.complete(p.reply, p.resp)
	case p.failed.Load():
		p.reply.CompleteClose(fmt.Errorf("produce with acks=0 was refused"))
	default:
		p.reply.CompleteNone()
	}
	p.Release()
}

// addLeaders adds where the leaders that the answer hints at listen.
func (p *produceCall) addLeaders() {
	if p.Header.Version < 10 || !p.failed.Load() {
		return
	}
	var hints leaderHints
	v := p.view()
	v.image = p.handler.Images.Current() // newer than the request when its records were waited for
	for i := range p.resp.Topics {
		for j := range p.resp.Topics[i].Partitions {
			hints.add(v, kafka.NodeID(p.resp.Topics[i].Partitions[j].CurrentLeader.LeaderID))
		}
	}
	for _, e := range hints {
		b := kmsg.NewProduceResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = int32(e.Node), e.Host, e.Port, optional(e.Rack)
		p.resp.Brokers = append(p.resp.Brokers, b)
	}
}
