package partition_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

func TestCompactionKeepsTheNewestOfEachKey(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	c.set("cleanup.policy", "compact")
	c.set("internal.segment.bytes", "200")
	b := c.brokers[0]
	for i := range 12 {
		b.produce(partition.AcksAll, fmt.Sprint("v", i)) // all with one key
		c.settle(2)
	}
	never := func() error { return nil }
	b.m.FlushOld(never, c.now.Add(time.Minute))
	remove := b.fs.Inject(vfs.Fault{Op: vfs.OpOpen, Err: syscall.EMFILE})
	failed := b.m.Compact(never, c.now, c.wall())
	remove()
	if len(failed) != 1 || !errors.Is(failed[0].Err, syscall.EMFILE) {
		t.Fatalf("without handles: %+v", failed)
	}
	if done := b.m.Compact(never, c.now.Add(time.Second), c.wall()); len(done) != 0 {
		t.Errorf("tried again at once: %+v", done)
	}
	done := b.m.Compact(never, c.now.Add(time.Minute), c.wall())
	if len(done) != 1 || done[0].Err != nil || done[0].Report.BytesAfter >= done[0].Report.BytesBefore {
		t.Fatalf("compaction did %+v", done)
	}
	values := b.readAll()
	if len(values) == 0 || len(values) >= 12 || values[len(values)-1] != "11=v11" {
		t.Errorf("the log holds %v", values)
	}
	// A new follower copies a log with gaps.
	c.brokers[1].kill()
	c.brokers[1].fs = vfs.NewMem(9)
	c.brokers[1].start()
	c.settle(60)
	if got, want := c.brokers[1].partition().Describe(), b.partition().Describe(); got.LogEnd != want.LogEnd || got.SizeBytes != want.SizeBytes {
		t.Errorf("the follower has %+v, the leader %+v", got, want)
	}
}

// readAll reads what consumers see, from the start.
func (b *broker) readAll() (values []string) {
	for from := b.partition().Describe().LogStart; ; {
		more, r := b.read(from, partition.ReadUncommitted)
		if r.Code != 0 || from >= r.HighWatermark || r.Slice.NextOffset == from {
			return values
		}
		values, from = append(values, more...), r.Slice.NextOffset
	}
}

func TestRetention(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	c.set("internal.segment.bytes", "100")
	c.set("retention.bytes", "150")
	b := c.brokers[0]
	for range 6 {
		b.produce(partition.AcksLeader, "a")
	}
	if deleted, errs := b.m.Retain(c.now, c.wall()); len(deleted) != 0 || len(errs) != 0 {
		t.Errorf("deleted what is not committed: %+v %v", deleted, errs)
	}
	c.settle(8)
	deleted, errs := b.m.Retain(c.now, c.wall())
	if len(errs) != 0 || len(deleted) != 1 || deleted[0].Partition.Topic != topic {
		t.Fatalf("deleted %+v %v", deleted, errs)
	}
	start := b.partition().Describe().LogStart
	if start == 0 {
		t.Error("the log start has not moved")
	}
	c.settle(4)
	if d := c.brokers[1].partition().Describe(); d.LogStart != start {
		t.Errorf("the follower starts at %d, the leader at %d", d.LogStart, start)
	}
}
