package partition_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

func TestAFullDiskRefusesAppendsAndHeals(t *testing.T) {
	c := newCluster(t, 2, func(o *partition.Options) { o.ReserveBytes = 10_000 })
	c.topic(0, 1)
	b := c.brokers[0]
	for _, b := range c.brokers { // more than partition.ReserveShare times the reserve
		f, err := b.fs.OpenFile("ballast", os.O_RDWR|os.O_CREATE)
		if err == nil {
			err = f.Truncate(1 << 20)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b.produce(partition.AcksLeader, "a")
	c.settle(2)
	b.fs.SetQuota(b.fs.Used() + 9_000)
	c.settle(40) // the reserve is touched
	wantCode(t, "below the reserve", b.produce(partition.AcksLeader, "b").Code, kafka.KafkaStorageError)
	if values, r := b.read(0, partition.ReadUncommitted); fmt.Sprint(values) != "[0=a]" || r.Code != kafka.None {
		t.Errorf("reading gives %v, %d", values, r.Code)
	}
	b.fs.SetQuota(b.fs.Used() + 11_000)
	c.settle(40)
	wantCode(t, "not yet a quarter above it", b.produce(partition.AcksLeader, "b").Code, kafka.KafkaStorageError)
	b.fs.SetQuota(-1)
	c.settle(40)
	wantCode(t, "with space again", b.produce(partition.AcksLeader, "b").Code, kafka.None)
	// The disk fills at once, before anybody looks.
	b.fs.SetQuota(b.fs.Used() + 20)
	wantCode(t, "no space", b.produce(partition.AcksLeader, "c").Code, kafka.KafkaStorageError)
	b.fs.SetQuota(-1)
	c.settle(80) // it stays shut for a second at least
	// A follower's disk: it falls behind and comes back.
	c.brokers[1].fs.SetQuota(c.brokers[1].fs.Used() + 20)
	late := b.produce(partition.AcksAll, "d")
	c.settle(5)
	wantCode(t, "acks=all", late.Code, pending)
	c.brokers[1].fs.SetQuota(-1)
	c.settle(100)
	wantCode(t, "acks=all", late.Code, kafka.None)
	if values, _ := b.read(0, partition.ReadUncommitted); fmt.Sprint(values) != "[0=a 1=b 2=d]" {
		t.Errorf("the log holds %v", values)
	}
	for _, b := range c.brokers {
		if err := b.m.Failure(); err != nil {
			t.Errorf("broker %d is offline: %v", b.id, err)
		}
	}
}

func TestNoHandlesIsNotTheEnd(t *testing.T) {
	c := newCluster(t, 1, func(o *partition.Options) { o.Files = seglog.NewFilePool(1) })
	c.topic(0)
	b := c.brokers[0]
	c.set("internal.segment.bytes", "100")
	wantCode(t, "produce", b.produce(partition.AcksLeader, "a").Code, kafka.None)
	remove := b.fs.Inject(vfs.Fault{Op: vfs.OpOpen, Err: syscall.EMFILE})
	wantCode(t, "a roll without handles", b.produce(partition.AcksLeader, "b").Code, kafka.KafkaStorageError)
	remove()
	wantCode(t, "with handles", b.produce(partition.AcksLeader, "b").Code, kafka.None)
	if err := b.m.Failure(); err != nil {
		t.Errorf("offline: %v", err)
	}
}

func TestAFailedFsyncTakesTheDirectoryOffline(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	c.set("flush.messages", "1")
	b := c.brokers[0]
	waits := b.produce(partition.AcksLeader, "a")
	wantCode(t, "before the flush", waits.Code, pending)
	b.fs.Inject(vfs.Fault{Op: vfs.OpSync, Err: syscall.EIO})
	b.m.Flush(c.now)
	if b.m.Failure() == nil {
		t.Fatal("still online")
	}
	wantCode(t, "produce", b.produce(partition.AcksLeader, "b").Code, kafka.KafkaStorageError)
	c.now = c.now.Add(time.Minute)
	c.settle(2)
	if waits.Code == kafka.None {
		t.Error("acknowledged what may not be on the disk")
	}
}

func TestFlushMessages(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	c.set("flush.messages", "1")
	b := c.brokers[0]
	one, all := b.produce(partition.AcksLeader, "a"), b.produce(partition.AcksAll, "b")
	c.brokers[1].fetch()
	c.brokers[1].fetch()
	wantCode(t, "acks=1", one.Code, pending)
	wantCode(t, "acks=all with the leader's own part missing", all.Code, pending)
	if len(b.m.FlushWanted()) != 1 {
		t.Error("no flush is asked for")
	}
	syncs := 0
	b.fs.Observe(func(op vfs.Op, _ string, _ int) {
		if op == vfs.OpSync {
			syncs++
		}
	})
	b.m.Flush(c.now)
	wantCode(t, "acks=1", one.Code, kafka.None)
	wantCode(t, "acks=all", all.Code, kafka.None)
	if syncs == 0 || syncs > 8 {
		t.Errorf("%d fsyncs for two produces", syncs)
	}
	for _, b := range c.brokers {
		b.crash()
	}
	for _, b := range c.brokers {
		b.start()
		if d := b.partition().Describe(); d.LogEnd != 2 {
			t.Errorf("after a power failure broker %d has up to %d", b.id, d.LogEnd)
		}
	}
}

func TestFlushMs(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	c.set("flush.ms", "100")
	b := c.brokers[0]
	b.produce(partition.AcksLeader, "a")
	c.settle(2)
	b.produce(partition.AcksLeader, "b")
	c.settle(4) // 120 ms after the first
	b.crash()
	b.start()
	if d := b.partition().Describe(); d.LogEnd != 2 {
		t.Errorf("after a power failure the log ends at %d", d.LogEnd)
	}
}

func TestOldDataIsFlushedAnyway(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	b := c.brokers[0]
	never := func() error { return nil }
	b.produce(partition.AcksLeader, "a")
	b.m.FlushOld(never, c.now.Add(29*time.Second))
	syncs := 0
	b.fs.Observe(func(op vfs.Op, _ string, _ int) {
		if op == vfs.OpSync {
			syncs++
		}
	})
	b.m.FlushOld(never, c.now.Add(29*time.Second))
	if syncs != 0 {
		t.Error("flushed early")
	}
	b.m.FlushOld(never, c.now.Add(30*time.Second))
	if syncs == 0 {
		t.Error("not flushed")
	}
	syncs = 0
	b.m.FlushOld(never, c.now.Add(90*time.Second))
	if syncs != 0 {
		t.Error("flushed again though nothing came")
	}
	b.crash()
	b.start()
	if d := b.partition().Describe(); d.LogEnd != 1 {
		t.Errorf("after a power failure the log ends at %d", d.LogEnd)
	}
}

// A log that cannot be opened for lack of space does not keep the broker from starting. It is opened as after the unclean
// stop that it was, when there is space.
func TestALogThatCannotBeOpenedForLackOfSpaceComesLater(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	b := c.brokers[0]
	c.set("internal.segment.bytes", "100")
	for range 2 { // two groups of records in the journal: in the last one damage is only a torn end
		for range 20 {
			b.produce(partition.AcksLeader, "a")
		}
		b.m.FlushOld(func() error { return nil }, c.now.Add(time.Hour))
	}
	end := b.partition().Describe().LogEnd
	b.crash()
	f, err := b.fs.OpenFile("data/t-0/fairlead.journal", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("damage"), 20); err != nil { // it must be written anew
		t.Fatal(err)
	}
	b.fs.SetQuota(0) // what opening removes makes no room
	b.start()
	if n := len(b.m.All()); n != 0 {
		t.Fatalf("%d logs are open, want none", n)
	}
	b.m.RetryMissing(c.now, 0)
	if err := b.m.Failure(); err != nil || len(b.m.All()) != 0 {
		t.Fatalf("without space: %d logs, %v", len(b.m.All()), err)
	}
	if err := b.m.Close(1, c.now); err == nil {
		t.Error("a stop without having opened the log counts as clean")
	}
	b.fs.SetQuota(-1)
	b.m.RetryMissing(c.now, 0)
	if d := b.partition().Describe(); d.LogEnd != end {
		t.Errorf("the log ends at %d, want %d", d.LogEnd, end)
	}
	wantCode(t, "produce", b.produce(partition.AcksLeader, "b").Code, kafka.None)
}

// Damage in stored batches harms their readers alone, and is told with the place.
func TestDamageInStoredBatchesIsReported(t *testing.T) {
	var reports []string
	c := newCluster(t, 1, func(o *partition.Options) {
		o.Damaged = func(doing string, p kafka.TopicPartition, err error) {
			reports = append(reports, fmt.Sprint(doing, " ", p, ": ", err))
		}
	})
	c.topic(0)
	b := c.brokers[0]
	for range 3 {
		b.produce(partition.AcksLeader, "a")
	}
	f, err := b.fs.OpenFile("data/t-0/00000000000000000000.log", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0x7f, 0xff, 0xff, 0xff}, 8); err != nil { // the first batch's length
		t.Fatal(err)
	}
	r := b.partition().ListOffsets(partition.ListOffsetsRequest{Timestamp: 0, CurrentLeaderEpoch: kafka.NoLeaderEpoch, Replica: kafka.NoNode})
	wantCode(t, "a look-up by time in the damage", r.Code, kafka.KafkaStorageError)
	if len(reports) != 1 || !strings.Contains(reports[0], "t-0") || !strings.Contains(reports[0], ".log") {
		t.Errorf("reports are %q, want one that names the partition and the file", reports)
	}
	if err := b.m.Failure(); err != nil {
		t.Errorf("the directory went offline: %v", err)
	}
	wantCode(t, "a produce after it", b.produce(partition.AcksLeader, "b").Code, kafka.None)
}
