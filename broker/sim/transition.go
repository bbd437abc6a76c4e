package sim

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// transition looks at one change of a partition's state, in the image of the broker that has it first.
func (c *checker) transition(w *World, h *host, image *metadata.Image, delta *metadata.Delta, d metadata.PartitionDelta) {
	before, after := d.Before, d.After
	if before == nil || after == nil || h.proc == nil || image.Version() != h.proc.newest+1 {
		return // not one entry: a snapshot
	}
	eligible := slices.Concat(before.ISR, before.ELR)
	// A leader whose disk is full lets others join and goes, in one entry.
	full := image.Broker(before.Leader)
	shed := full != nil && full.Eligible() && full.DiskFull && slices.Contains(after.ISR, after.Leader)
	if after.Leader != before.Leader && after.Leader != kafka.NoNode && len(eligible) > 0 && !slices.Contains(eligible, after.Leader) && !shed {
		w.breach("elections", "image %d: %s-%d is led by %d, eligible were %v", image.Version(), d.Topic, d.Partition, after.Leader, eligible)
	}
	for _, n := range after.ISR {
		if !slices.Contains(before.ISR, n) && after.Leader == before.Leader && after.LeaderEpoch == before.LeaderEpoch && !image.Eligible(n) {
			w.breach("joining", "image %d: %d joins the ISR of %s-%d and is not eligible", image.Version(), n, d.Topic, d.Partition)
		}
	}
	anew := func(n kafka.NodeID) bool {
		return slices.ContainsFunc(delta.Brokers, func(b metadata.BrokerDelta) bool {
			return b.ID == n && b.Before != nil && b.After != nil && b.Before.Epoch != b.After.Epoch
		})
	}
	tp := kafka.TopicPartition{Topic: d.Topic, Partition: d.Partition}
	if after.Leader != before.Leader && after.Leader != kafka.NoNode && !slices.Contains(eligible, after.Leader) && w.hosts[after.Leader].failed(tp) {
		w.breach("elections", "image %d: %s-%d is led by %d, whose log failed and which had resigned", image.Version(), d.Topic, d.Partition, after.Leader)
	}
	kept := 0
	for _, n := range eligible {
		if after.HasReplica(n) && !anew(n) && !w.hosts[n].lost[tp] {
			kept++
		}
	}
	if len(after.ISR)+len(after.ELR) < min(w.minISR(), kept) {
		w.breach("leaving", "image %d: %s-%d had %v eligible, of which %d did not start anew or lose their logs; left are ISR %v, ELR %v", image.Version(), d.Topic, d.Partition,
			eligible, kept, after.ISR, after.ELR)
	}
}

// registrations looks at brokers that registered anew.
func (c *checker) registrations(w *World, image *metadata.Image, delta *metadata.Delta) {
	for _, b := range delta.Brokers {
		if b.Before == nil || b.After == nil || b.Before.Epoch == b.After.Epoch {
			continue
		}
		h := w.hosts[b.ID]
		wiped := b.Before.Directory != b.After.Directory
		unclean := h.proc != nil && h.proc.uncleanStart && h.proc.incarnation == b.After.Incarnation && b.Before.Incarnation != b.After.Incarnation
		if !wiped && !unclean {
			continue
		}
		for t := range image.Topics() {
			for n, s := range t.Partitions() {
				if len(s.Replicas) > 1 && slices.Contains(slices.Concat(s.ISR, s.ELR), b.ID) {
					w.breach("anew", "image %d: broker %d starts anew (other directory %v, unclean %v) and is still eligible in %s-%d", image.Version(), b.ID, wiped, unclean, t.Name, n)
				}
			}
		}
	}
}
