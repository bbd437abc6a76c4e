package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeat answers BrokerHeartbeat (63). The states of a registration, and what a heartbeat does:
//
//	          wantFence=false and caught up          wantShutDown
//	FENCED ------------------------------> ACTIVE ---------------> STOPPING ---> (shouldShutDown)
//	   ^  ^------ wantFence, silence, suspicion --'                    |
//	   '---------- silence, suspicion, the next registration ----------'
//
// A broker has caught up when its image holds its own registration. A fenced broker may stop at once. A stopping one may
// when it leads nothing any more and its own image shows that, so that it has handed over by itself. A broker whose data
// directory is offline is fenced until it registers again, which it then does as after an unclean stop. One whose disk is full
// stays in service without taking writes: see disk_full.go.
func (t *turn) heartbeat(req *kmsg.BrokerHeartbeatRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	resp.IsFenced = true
	node := kafka.NodeID(req.BrokerID)
	b := t.image.Broker(node)
	if b == nil || t.c.rules.StaleBrokerEpochs && b.Epoch != kafka.BrokerEpoch(req.BrokerEpoch) {
		resp.ErrorCode = int16(kafka.StaleBrokerEpoch)
		return resp
	}
	fresh := !t.lives(node)
	t.c.hear(node, b.Epoch, t.now)
	if fresh && b.Eligible() {
		t.outlive(node)
	}
	// In the committed image: the index of a registration that is only proposed is not known.
	registered := t.c.committed.Broker(node)
	resp.IsCaughtUp = registered != nil && registered.Epoch == b.Epoch && req.CurrentMetadataOffset >= int64(registered.RegisteredAt)

	if full := wire.DiskFull(req); full != b.DiskFull {
		b = t.setDiskFull(b, full)
	}
	failed := slices.Contains(req.OfflineLogDirs, [16]byte(b.Directory))
	switch {
	case failed && !b.Fenced:
		t.fence(b)
	case req.WantShutdown && b.Fenced:
		resp.ShouldShutdown = true
	case req.WantShutdown && !b.ControlledShutdown:
		t.stop(b)
	case req.WantShutdown:
		resp.ShouldShutdown = t.mayStop(b, uint64(max(0, req.CurrentMetadataOffset)))
	case req.WantFence && !b.Fenced:
		t.fence(b)
	case !req.WantFence && !failed && b.Fenced && resp.IsCaughtUp:
		t.unfence(b)
	}
	resp.IsFenced = t.image.Broker(node).Fenced
	return resp
}

// stop begins a controlled shutdown: the broker may neither lead nor join an ISR from now on, and leaves the ISRs in which
// others are known to live. Partitions that only it could lead have no leader while it is down.
func (t *turn) stop(b *metadata.Broker) {
	t.add(&metadata.BrokerChange{ID: b.ID, Epoch: b.Epoch, ControlledShutdown: true, DiskFull: b.DiskFull})
	t.leave(b.ID)
}

// mayStop tells whether a stopping broker can go. version is of the image that it has: it must show that the broker leads
// nothing.
func (t *turn) mayStop(b *metadata.Broker, version uint64) bool {
	k := t.c.soft.contacts[b.ID]
	return k.epoch == b.Epoch && k.stopAt > 0 && version >= k.stopAt && !leadsAny(t.c.committed, b.ID)
}

func leadsAny(i *metadata.Image, n kafka.NodeID) bool {
	for topic := range i.Topics() {
		for _, p := range topic.Partitions() {
			if p.Leader == n {
				return true
			}
		}
	}
	return false
}

// fence takes brokers out of service: they lead nothing and leave the ISRs in which others are known to live.
func (t *turn) fence(brokers ...*metadata.Broker) {
	if len(brokers) == 0 {
		return
	}
	var records []metadata.Record
	var gone []kafka.NodeID
	for _, b := range brokers {
		records = append(records, &metadata.BrokerChange{
			ID: b.ID, Epoch: b.Epoch, Fenced: true, ControlledShutdown: b.ControlledShutdown, DiskFull: b.DiskFull,
		})
		gone = append(gone, b.ID)
	}
	t.add(records...)
	t.leave(gone...)
}

// leave settles the partitions of brokers that are not eligible any more.
func (t *turn) leave(gone ...kafka.NodeID) {
	t.each(func(ref partitionRef) *metadata.PartitionChange {
		concerned := false
		for _, n := range gone {
			concerned = concerned || ref.InISR(n) || ref.Moving() && ref.HasReplica(n)
		}
		if !concerned {
			return nil
		}
		x := t.change(ref, nil)
		x.settle()
		return x.done()
	})
}

// lives tells whether a broker is in service and this leader has heard of it within its session.
func (t *turn) lives(n kafka.NodeID) bool {
	b, k := t.image.Broker(n), t.c.soft.contacts[n]
	return b != nil && b.Eligible() && k.heard && k.epoch == b.Epoch && t.now.Sub(k.last) < t.c.options.SessionTimeout
}

// outlive takes those who are gone out of the ISRs in which they were kept until a broker was heard: see shedGone.
func (t *turn) outlive(n kafka.NodeID) {
	t.each(func(ref partitionRef) *metadata.PartitionChange {
		if !ref.InISR(n) || !slices.ContainsFunc(ref.ISR, func(m kafka.NodeID) bool { return !t.image.Eligible(m) }) {
			return nil
		}
		x := t.change(ref, nil)
		x.settle()
		return x.done()
	})
}

// unfence puts a broker into service. It leads at once what nobody leads and it may.
func (t *turn) unfence(b *metadata.Broker) {
	t.add(&metadata.BrokerChange{ID: b.ID, Epoch: b.Epoch, ControlledShutdown: b.ControlledShutdown, DiskFull: b.DiskFull})
	k := t.c.soft.contacts[b.ID]
	k.unfenced = t.now
	t.c.soft.contacts[b.ID] = k
	t.each(func(ref partitionRef) *metadata.PartitionChange {
		if ref.Leader != kafka.NoNode || !ref.HasReplica(b.ID) {
			return nil
		}
		x := t.change(ref, nil)
		x.settle()
		if x.after.Leader == kafka.NoNode {
			x.recover()
		}
		return x.done()
	})
}

// suspect fences a broker whose process seems dead.
func (t *turn) suspect(n kafka.NodeID, epoch kafka.BrokerEpoch) {
	b := t.image.Broker(n)
	if b == nil || b.Fenced || epoch != kafka.NoBrokerEpoch && epoch != b.Epoch {
		return
	}
	t.fence(b)
}
