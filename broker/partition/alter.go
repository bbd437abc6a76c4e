package partition

import (
	"iter"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxAlterBatch bounds the partitions of one AlterPartition request.
const maxAlterBatch = 5000

// propose queues an ISR change; sendAlters sends it once no lock is held. p.mu is held.
func (h *host) propose(p *Partition, a *replica.Alter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i, ok := h.alterAt[p]; ok { // superseded before it was sent
		h.alters[i].Alter = *a
		return
	}
	h.alterAt[p] = len(h.alters)
	h.alters = append(h.alters, proposal{p, *a})
}

// sendAlters sends what is queued unless a request is in flight: what comes up meanwhile goes together in the next one.
// No lock is held.
func (h *host) sendAlters() {
	h.mu.Lock()
	if h.altering || len(h.alters) == 0 {
		h.mu.Unlock()
		return
	}
	n := min(len(h.alters), maxAlterBatch)
	batch := h.alters[:n:n]
	h.alters = append([]proposal(nil), h.alters[n:]...)
	clear(h.alterAt)
	for i, a := range h.alters {
		h.alterAt[a.p] = i
	}
	h.altering = true
	h.mu.Unlock()
	all := func(yield func(kafka.TopicIDPartition, *replica.Alter) bool) {
		for i := range batch {
			if !yield(batch[i].p.id, &batch[i].Alter) {
				return
			}
		}
	}
	h.o.Alter(h.alterRequest(all), func(resp *kmsg.AlterPartitionResponse, err error) { h.altered(batch, resp, err) })
}

func (h *host) alterRequest(changes iter.Seq2[kafka.TopicIDPartition, *replica.Alter]) *kmsg.AlterPartitionRequest {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = 3
	req.BrokerID = int32(h.o.Self)
	req.BrokerEpoch = int64(kafka.NoBrokerEpoch)
	if b := h.image.Load().Broker(h.o.Self); b != nil {
		req.BrokerEpoch = int64(b.Epoch)
	}
	topics := map[kafka.TopicID]int{}
	for id, a := range changes {
		i, ok := topics[id.TopicID]
		if !ok {
			i = len(req.Topics)
			topics[id.TopicID] = i
			t := kmsg.NewAlterPartitionRequestTopic()
			t.TopicID = id.TopicID
			req.Topics = append(req.Topics, t)
		}
		rp := kmsg.NewAlterPartitionRequestTopicPartition()
		rp.Partition = id.Partition
		rp.LeaderEpoch = int32(a.LeaderEpoch)
		rp.PartitionEpoch = int32(a.PartitionEpoch)
		for _, m := range a.ISR {
			e := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
			e.BrokerID, e.BrokerEpoch = int32(m.ID), int64(m.Epoch)
			rp.NewEpochISR = append(rp.NewEpochISR, e)
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	return req
}

// altered hands the controller's answers to the partitions. A transport failure, and a partition that the answer does
// not mention, is REQUEST_TIMED_OUT: nobody knows whether the change was made.
func (h *host) altered(batch []proposal, resp *kmsg.AlterPartitionResponse, err error) {
	now := kafka.Elapsed(h.now.Load())
	answers := map[kafka.TopicIDPartition]*kmsg.AlterPartitionResponseTopicPartition{}
	common := kafka.RequestTimedOut
	if err == nil && resp != nil {
		if resp.ErrorCode != 0 {
			common = kafka.ErrorCode(resp.ErrorCode)
		}
		for i := range resp.Topics {
			t := &resp.Topics[i]
			for j := range t.Partitions {
				answers[kafka.TopicIDPartition{TopicID: t.TopidID, Partition: t.Partitions[j].Partition}] = &t.Partitions[j]
			}
		}
	}
	for _, a := range batch {
		step := replica.Altered{Ticket: a.Ticket, Code: common, Now: now}
		if r := answers[a.p.id]; r != nil {
			step.Code = kafka.ErrorCode(r.ErrorCode)
			step.Leader, step.LeaderEpoch = kafka.NodeID(r.LeaderID), kafka.LeaderEpoch(r.LeaderEpoch)
			step.PartitionEpoch, step.Recovering = kafka.PartitionEpoch(r.PartitionEpoch), r.LeaderRecoveryState != 0
			for _, id := range r.ISR {
				step.ISR = append(step.ISR, kafka.NodeID(id))
			}
		}
		a.p.altered(step)
	}
	h.mu.Lock()
	h.altering = false
	h.mu.Unlock()
	h.sendAlters()
}
