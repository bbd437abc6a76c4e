package partition_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TestStartingOverOnAFullDisk: the leader's log begins in the middle of a batch, so a follower that starts over takes that batch and cuts its log
// below its start for it. Wherever the disk gets full in that, the log stays within what the follower says of it, and catches up later.
func TestStartingOverOnAFullDisk(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpOpen} {
		for skip := range 16 {
			t.Run(fmt.Sprintf("%v %d", op, skip), func(t *testing.T) {
				c := newCluster(t, 2, nil)
				c.topic(0, 1)
				c.brokers[0].produce(partition.AcksLeader, "a", "b")
				c.settle(2)
				c.brokers[1].kill()
				c.lead(0)
				c.settle(1)
				c.brokers[0].produce(partition.AcksLeader, "c", "d")
				c.brokers[0].partition().DeleteRecords(partition.DeleteRecordsRequest{Before: 3, Now: c.now}, func(partition.DeleteRecordsResult) {})
				c.brokers[1].start()
				remove := c.brokers[1].fs.Inject(vfs.Fault{Op: op, Err: syscall.ENOSPC, Skip: skip})
				check := func() {
					t.Helper()
					if d := c.brokers[1].partition().Describe(); d.LogStart > d.LogEnd || d.HighWatermark < d.LogStart || d.HighWatermark > d.LogEnd {
						t.Fatalf("the follower has [%d, %d) watermark %d", d.LogStart, d.LogEnd, d.HighWatermark)
					}
				}
				for range 20 {
					c.settle(1)
					check()
				}
				remove()
				for range 120 { // the door of a full disk stays shut for a second at least
					c.settle(1)
					check()
				}
				if d := c.brokers[1].partition().Describe(); d.LogStart != 3 || d.LogEnd != 4 || d.HighWatermark != kafka.Offset(4) {
					t.Errorf("the follower has [%d, %d) watermark %d", d.LogStart, d.LogEnd, d.HighWatermark)
				}
			})
		}
	}
}

// A start that is not noted yet is of the log before.
func TestStartingOverForgetsTheStartBefore(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	c.brokers[0].produce(partition.AcksLeader, "a", "b")
	c.settle(3)
	b := c.brokers[1]
	p := b.partition()
	epoch := c.state().LeaderEpoch
	// All records were deleted at the leader, which then lost its place to one that has less.
	wantCode(t, "an answer", p.TakeAnswer(replica.Answer{Asked: epoch, LeaderStart: 2, LeaderWatermark: 2, Now: c.now}), kafka.None)
	pos, ok := p.FetchPosition()
	if !ok || pos.From != 2 || !pos.Unsettled {
		t.Fatalf("the follower asks with %+v, %v", pos, ok)
	}
	if !p.TakeOutOfRange(replica.OutOfRange{Asked: pos, LeaderStart: 1}, c.now) {
		t.Fatal("it does not start over")
	}
	b.m.Tick(c.now.Add(partition.TickEvery))
	if err := b.m.Failure(); err != nil {
		t.Errorf("the directory is offline: %v", err)
	}
	if d := p.Describe(); d.LogStart != 1 || d.LogEnd != 1 {
		t.Errorf("the follower has [%d, %d)", d.LogStart, d.LogEnd)
	}
}
