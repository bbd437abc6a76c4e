package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// A broker whose disk is full can serve reads and heartbeats, and cannot append. Each of its heartbeats says so; the image keeps it,
// since a new quorum leader must not give it leaderships back before it has heard of it, and leaders must not take it into
// their ISR. What follows from it:
//
//   - It leaves every ISR in which somebody has space. Where it led, such a one leads. So writes go on.
//   - Where nobody in the ISR has space everything stays as it is: readable, refusing writes. Going on without those who left
//     earlier would lose records.
//   - It joins no ISR, and is elected only where nobody else can be. New partitions go to others first.
//   - When it has space again it joins the ISRs as soon as it has caught up, as any replica, and leaderships come back to it
//     as after a restart.

// setDiskFull notes what a broker says of its disk, and settles its partitions.
func (t *turn) setDiskFull(b *metadata.Broker, full bool) *metadata.Broker {
	t.add(&metadata.BrokerChange{ID: b.ID, Epoch: b.Epoch, Fenced: b.Fenced, ControlledShutdown: b.ControlledShutdown, DiskFull: full})
	if !full {
		k := t.c.soft.contacts[b.ID]
		k.unfenced = t.now
		t.c.soft.contacts[b.ID] = k
	}
	t.each(func(ref partitionRef) *metadata.PartitionChange {
		if !ref.InISR(b.ID) {
			return nil
		}
		x := t.change(ref, nil)
		x.settle()
		return x.done()
	})
	return t.image.Broker(b.ID)
}

// diskFull tells whether a broker said that its disk is full.
func (t *turn) diskFull(n kafka.NodeID) bool {
	b := t.image.Broker(n)
	return b != nil && b.DiskFull
}

// shedFull takes brokers with a full disk out of the ISR, if somebody in it takes writes.
func (x *transition) shedFull() {
	if x.mustShed() {
		x.setISR(filter(x.after.ISR, func(n kafka.NodeID) bool { return !x.t.diskFull(n) }))
	}
}

// mustShed tells whether shedFull has something to do.
func (x *transition) mustShed() bool {
	isr := x.after.ISR
	return slices.ContainsFunc(isr, x.t.diskFull) && slices.ContainsFunc(isr, x.t.image.TakesWrites)
}

// firstChoice tells who is to hold new partitions: brokers in service with space, or when there are none, without.
func (t *turn) firstChoice() func(kafka.NodeID) bool {
	for b := range t.image.Brokers() {
		if b.TakesWrites() {
			return t.image.TakesWrites
		}
	}
	return t.image.Eligible
}
