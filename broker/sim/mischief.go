package sim

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// whole tells whether the loss of one host would lose nothing: every partition has all its replicas in sync, every broker serves, and every voter is
// the directory that runs.
func (w *World) whole() bool {
	image := w.image()
	for _, t := range w.topics {
		topic := image.TopicByName(t.name)
		if topic == nil {
			return false
		}
		for _, s := range topic.Partitions() {
			if s.Leader == kafka.NoNode || len(s.ISR) < len(s.Replicas) {
				return false
			}
		}
	}
	for _, h := range w.hosts {
		if h.proc == nil || !h.proc.member.Serving() || h.proc.image.Version() != image.Version() {
			return false
		}
	}
	d := w.deciding(nil)
	if d == nil {
		return false
	}
	st := d.proc.node.Status()
	for _, v := range slices.Concat(st.Voters, st.Observers) {
		if v.Directory != w.hosts[v.Node].directory || v.LogEnd < st.HighWatermark {
			return false
		}
	}
	return len(st.Voters) == 3 && !slices.ContainsFunc(st.Voters, func(r quorum.Replica) bool { return r.LogEnd == 0 })
}

// expendable tells whether a host may lose what it did not sync: then in each of its partitions fewer than min.insync.replicas of the eligible
// replicas have lost something, and one has not. With more, nothing holds what is committed: the one that has it may be out of the ISR
// before the controller hears of the losses, and not in the ELR, since the ISR looks long enough without it.
func (w *World) expendable(h *host) bool {
	image := w.image()
	for _, t := range w.topics {
		topic := image.TopicByName(t.name)
		if topic == nil {
			return false
		}
		for _, s := range topic.Partitions() {
			lost, kept := 0, 0
			for _, n := range slices.Concat(s.ISR, s.ELR) {
				if n == h.id || w.hosts[n].unclean {
					lost++
				} else {
					kept++
				}
			}
			if s.HasReplica(h.id) && (kept == 0 || lost >= w.minISR()) {
				return false
			}
		}
	}
	return true
}

// ghost is another process that registers with the id of a broker that is alive: it must be refused.
func (x *weather) ghost(w *World, h *host) {
	d := w.deciding(nil)
	if d == nil || d == h || h.proc == nil || !h.proc.member.Serving() {
		return
	}
	b := d.proc.image.Broker(h.id)
	if b == nil || !b.Eligible() {
		return
	}
	x.ghosts++
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.SetVersion(req.MaxVersion())
	req.BrokerID, req.ClusterID, req.PreviousBrokerEpoch = int32(h.id), clusterID, -1
	binary.BigEndian.PutUint64(req.IncarnationID[:], x.ghosts)
	var dir [16]byte
	binary.BigEndian.PutUint64(dir[:], ^x.ghosts)
	req.LogDirs = [][16]byte{dir}
	epoch, heard := b.Epoch, h.proc.heartbeat
	d.proc.do(func() {
		d.proc.node.Submit(recode(w, req), w.now, func(reply any, err error) {
			r, ok := reply.(*kmsg.BrokerRegistrationResponse)
			if err != nil || !ok || r.ErrorCode != 0 {
				return
			}
			// It may have been fenced, or silent, without our knowing: only a broker that was heard just now counts.
			if now := d.proc.image.Broker(h.id); heard > 0 && w.now < heard.Add(heartbeatInterval) && now != nil && now.Epoch == epoch && now.Eligible() &&
				h.proc != nil && h.proc.member.Phase() == membership.PhaseMember {
				w.breach("ids", "a second process with the id of broker %d, which is alive, was registered", h.id)
			}
		})
		d.proc.pump()
	})
}

// deleteRecords moves the log start of a partition, as a client may.
func (x *weather) deleteRecords(w *World, h *host) {
	if h.proc == nil {
		return
	}
	for _, t := range w.topics {
		n := int32(w.rnd.IntN(int(t.partitions)))
		part, _ := h.proc.parts.Get(kafka.TopicPartition{Topic: t.name, Partition: n})
		if part == nil {
			continue
		}
		d := part.Describe()
		if d.Role != replica.Leader || d.HighWatermark <= d.LogStart {
			continue
		}
		before := d.LogStart + kafka.Offset(w.rnd.Int64N(int64(d.HighWatermark-d.LogStart)))
		w.logf("records before %d of %s-%d are deleted", before, t.name, n)
		h.proc.do(func() {
			part.DeleteRecords(partition.DeleteRecordsRequest{Before: before, Timeout: time.Second, Now: w.now}, func(partition.DeleteRecordsResult) {})
		})
	}
}
