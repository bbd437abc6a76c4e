package partition_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// slowDisk is a disk whose fsyncs of segments wait for the test, once it says so.
type slowDisk struct {
	vfs.FS
	slow  bool          // changed while no fsync is under way
	began chan struct{} // an fsync waits
	end   chan struct{} // it may end
	syncs int
}

func (d *slowDisk) OpenFile(name string, flag int) (vfs.File, error) {
	f, err := d.FS.OpenFile(name, flag)
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return slowFile{f, d}, nil
}

type slowFile struct {
	vfs.File
	d *slowDisk
}

func (f slowFile) Sync() error {
	if f.d.slow {
		f.d.began <- struct{}{}
		<-f.d.end
	}
	f.d.syncs++
	return f.File.Sync()
}

// While an fsync runs, records are appended and read; what was appended meanwhile is acknowledged by the next one, of all.
func TestAppendsAndReadsGoOnWhileTheDiskSyncs(t *testing.T) {
	var disk *slowDisk
	c := newCluster(t, 1, func(o *partition.Options) {
		disk = &slowDisk{FS: o.FS, began: make(chan struct{}), end: make(chan struct{})}
		o.FS = disk
	})
	c.topic(0)
	c.set("flush.messages", "1")
	b := c.brokers[0]
	b.produce(partition.AcksAll, "a")
	b.m.Flush(c.now)
	first := b.produce(partition.AcksLeader, "b")
	disk.slow = true
	flushed := make(chan struct{})
	go func() {
		b.m.Flush(c.now)
		close(flushed)
	}()
	<-disk.began
	var later []*partition.ProduceResult
	for _, value := range []string{"c", "d", "e"} {
		later = append(later, b.produce(partition.AcksLeader, value))
	}
	if values, r := b.read(0, partition.ReadUncommitted); fmt.Sprint(values) != "[0=a]" || r.Code != kafka.None {
		t.Errorf("reading gives %v, %s", values, r.Code)
	}
	if d := b.partition().Describe(); d.LogEnd != 5 || d.HighWatermark != 1 {
		t.Errorf("while the disk syncs: %+v", d)
	}
	wantCode(t, "before the fsync ends", first.Code, pending)
	disk.end <- struct{}{}
	<-flushed
	disk.slow = false
	wantCode(t, "when it has ended", first.Code, kafka.None)
	for i, r := range later {
		wantCode(t, fmt.Sprint("appended meanwhile ", i), r.Code, pending)
	}
	if d := b.partition().Describe(); d.HighWatermark != 2 || d.UnflushedBytes == 0 {
		t.Errorf("after the fsync: %+v", d)
	}
	disk.syncs = 0
	b.m.Flush(c.now)
	for i, r := range later {
		wantCode(t, fmt.Sprint("after the next fsync ", i), r.Code, kafka.None)
	}
	if d := b.partition().Describe(); disk.syncs != 1 || d.UnflushedBytes != 0 {
		t.Errorf("%d fsyncs for three produces, then %+v", disk.syncs, d)
	}
}

// A follower does not tell its leader of records that an fsync failed to take for lack of a handle, before another one has.
func TestAFollowerCountsOnlyForWhatItFlushed(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	c.set("flush.messages", "1")
	leader, follower := c.brokers[0], c.brokers[1]
	waits := leader.produce(partition.AcksAll, "a")
	leader.m.Flush(c.now)
	remove := follower.fs.Inject(vfs.Fault{Op: vfs.OpOpen, Pattern: "fairlead.journal", Err: syscall.EMFILE})
	follower.fetch() // takes the record
	follower.fetch()
	wantCode(t, "acks=all", waits.Code, pending)
	remove()
	c.settle(4)
	wantCode(t, "acks=all after a flush", waits.Code, kafka.None)
}

// What an unclean stop left may not be on the disk, so it counts only when it is flushed again.
func TestRecordsOfAnUncleanStopAreFlushedBeforeTheyCount(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	b := c.brokers[0]
	c.set("flush.messages", "1")
	b.produce(partition.AcksLeader, "a") // nobody flushes
	b.kill()
	b.start()
	if d := b.partition().Describe(); d.LogEnd != 1 || d.HighWatermark != 0 {
		t.Fatalf("after a kill: %+v", d)
	}
	if len(b.m.FlushWanted()) != 1 {
		t.Error("no flush is asked for")
	}
	b.m.Flush(c.now)
	if d := b.partition().Describe(); d.HighWatermark != 1 {
		t.Errorf("after a flush: %+v", d)
	}
	b.crash()
	b.start()
	if d := b.partition().Describe(); d.LogEnd != 1 {
		t.Errorf("after a loss of power: %+v", d)
	}
}
