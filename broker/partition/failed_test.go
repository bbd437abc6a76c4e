package partition_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

var (
	spareID = kafka.TopicID{9}
	spare   = kafka.TopicPartition{Topic: "spare"}
)

// failing is a broker with the topic of all tests and a second one, and what it told of logs that failed.
func failing(t *testing.T) (c *cluster, told *[]string) {
	told = new([]string)
	note := func(what string) func(string, kafka.TopicPartition, error) {
		return func(doing string, p kafka.TopicPartition, _ error) {
			*told = append(*told, fmt.Sprint(what, ": ", doing, " ", p))
		}
	}
	c = newCluster(t, 1, func(o *partition.Options) {
		o.Failed = func(f *partition.Failure) { note("failed")(f.Doing, f.Partition, f.Err) }
		o.Damaged = note("damaged")
	})
	one := []kafka.NodeID{0}
	c.apply(&metadata.TopicRecord{ID: spareID, Name: spare.Topic}, &metadata.PartitionRecord{TopicID: spareID, Partition: metadata.Partition{Replicas: one, ISR: one}})
	c.topic(0)
	return c, told
}

func (b *broker) wantServing(what string, want map[string]kafka.ErrorCode) {
	b.c.t.Helper()
	for name, code := range want {
		p, got := b.m.Get(kafka.TopicPartition{Topic: name})
		if p != nil {
			got = p.ListOffsets(partition.ListOffsetsRequest{Timestamp: partition.TimestampLatest, CurrentLeaderEpoch: kafka.NoLeaderEpoch, Replica: kafka.NoNode}).Code
		}
		wantCode(b.c.t, what+": "+name, got, code)
	}
	if err := b.m.Failure(); err != nil {
		b.c.t.Errorf("%s: the directory is offline: %v", what, err)
	}
}

func TestALogWhoseFolderIsDeletedFailsAlone(t *testing.T) {
	c, told := failing(t)
	b := c.brokers[0]
	c.set("flush.messages", "1")
	b.produce(partition.AcksAll, "a")
	b.m.Flush(c.now)
	waits := b.produce(partition.AcksAll, "b")
	wantCode(t, "before the flush", waits.Code, pending)
	if err := b.fs.RemoveAll("data/t-0"); err != nil {
		t.Fatal(err)
	}
	w := &counter{}
	watch := partition.Watch{Watcher: w, Kind: partition.WatchHighWatermark}
	b.partition().Watch(&watch)
	defer watch.Stop()
	b.m.Flush(c.now)
	b.m.Tick(c.now)
	wantCode(t, "what waited for the flush", waits.Code, kafka.KafkaStorageError)
	if w.n == 0 {
		t.Error("a waiting fetch is not told")
	}
	wantCode(t, "a produce", b.produce(partition.AcksLeader, "c").Code, kafka.KafkaStorageError)
	_, r := b.read(0, partition.ReadUncommitted)
	wantCode(t, "a fetch", r.Code, kafka.KafkaStorageError)
	b.wantServing("while it runs", map[string]kafka.ErrorCode{topic: kafka.KafkaStorageError, spare.Topic: kafka.None})
	c.settle(100)
	if fmt.Sprint(*told) != "[failed: flush t-0]" || len(b.m.FailedLogs()) != 1 {
		t.Errorf("told %q, lists %v", *told, b.m.FailedLogs())
	}
	// The next start must not count on what this replica had.
	if err := b.m.Close(1, c.now); err == nil {
		t.Error("the stop counts as clean")
	}
	b.kill()
	b.start()
	if _, clean := b.dir.CleanShutdown(); clean {
		t.Error("the stop counted as clean")
	}
	b.wantServing("after a start", map[string]kafka.ErrorCode{topic: kafka.None, spare.Topic: kafka.None})
}

type counter struct{ n int }

func (w *counter) PartitionReady(*partition.Watch) { w.n++ }

// A log that fails when it is opened does not keep the broker from starting. The broker says that it did not stop cleanly, so that
// it is counted on for nothing.
func TestALogThatCannotBeOpenedFailsAlone(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func(fs *vfs.Mem)
	}{
		{"its folder is closed to the process", func(m *vfs.Mem) {
			m.Inject(vfs.Fault{Op: vfs.OpOpen, Pattern: "partition.metadata", Skip: 1, Times: 1, Err: fs.ErrPermission}) // the second folder's
		}},
		{"a file of it is of another kind", func(m *vfs.Mem) {
			_ = m.Remove("data/t-0/fairlead.journal")
			_ = m.MkdirAll("data/t-0/fairlead.journal")
		}},
		{"its disk blocks cannot be read", func(m *vfs.Mem) {
			m.Inject(vfs.Fault{Op: vfs.OpRead, Pattern: "fairlead.journal", Skip: 1, Times: 1, Err: syscall.EIO})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, told := failing(t)
			b := c.brokers[0]
			b.produce(partition.AcksAll, "a")
			b.stop()
			test.harm(b.fs)
			b.start()
			b.wantServing("after a start", map[string]kafka.ErrorCode{topic: kafka.KafkaStorageError, spare.Topic: kafka.None})
			if len(*told) != 1 {
				t.Errorf("told %q", *told)
			}
			if _, clean := b.dir.CleanShutdown(); clean {
				t.Error("the broker says that it was stopped cleanly, though a log is missing")
			}
			b.m.RetryMissing(c.now, c.wall())
			c.settle(10)
			b.wantServing("a while later", map[string]kafka.ErrorCode{topic: kafka.KafkaStorageError, spare.Topic: kafka.None})
			if err := b.m.Close(1, c.now); err == nil {
				t.Error("the stop counts as clean")
			}
		})
	}
}

// A topic whose log failed can be deleted, and made again.
func TestAFailedLogGoesWithItsTopic(t *testing.T) {
	c, _ := failing(t)
	b := c.brokers[0]
	b.stop()
	if err := b.fs.MkdirAll("data/t-0/leader-epoch-checkpoint"); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.wantServing("after a start", map[string]kafka.ErrorCode{topic: kafka.KafkaStorageError})
	id := kafka.TopicIDPartition{TopicID: topicID}
	c.apply(&metadata.RemoveTopic{ID: topicID})
	b.m.Apply(c.image, &metadata.Delta{Partitions: []metadata.PartitionDelta{{TopicIDPartition: id, Topic: topic}}}, c.now, c.wall())
	if n := len(b.m.FailedLogs()); n != 0 {
		t.Errorf("%d failed logs are left", n)
	}
	again := kafka.TopicID{3, 3, 3}
	c.apply(&metadata.TopicRecord{ID: again, Name: topic}, &metadata.PartitionRecord{TopicID: again, Partition: metadata.Partition{
		Replicas: []kafka.NodeID{0}, ISR: []kafka.NodeID{0},
	}})
	c.sync()
	b.wantServing("made again", map[string]kafka.ErrorCode{topic: kafka.None})
}

// A folder that is deleted while the broker is stopped cleanly: its replica begins empty, so it must not be in the ISR.
func TestALostFolderMakesTheStopUnclean(t *testing.T) {
	c, told := failing(t)
	b := c.brokers[0]
	b.stop()
	b.start()
	if _, clean := b.dir.CleanShutdown(); !clean {
		t.Fatal("a clean stop is not one")
	}
	b.produce(partition.AcksAll, "a")
	b.stop()
	if err := b.fs.RemoveAll("data/t-0"); err != nil {
		t.Fatal(err)
	}
	b.start()
	if _, clean := b.dir.CleanShutdown(); clean {
		t.Error("the broker says that it was stopped cleanly, though a log is gone")
	}
	if fmt.Sprint(*told) != "[damaged: find t-0]" {
		t.Errorf("told %q", *told)
	}
	b.wantServing("after the start", map[string]kafka.ErrorCode{topic: kafka.None})
}

// Logs are opened several at once, and several may lack what they need.
func TestLogsThatCannotBeOpenedAtOnce(t *testing.T) {
	const n = 20
	c := newCluster(t, 1, func(o *partition.Options) {
		o.Each = func(n int, do func(int)) {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { do(i) })
			}
			all.Wait()
		}
		o.Settings = func(*metadata.Image, string) config.Topic { return config.ResolveTopic(config.Layers{}) }
	})
	one := []kafka.NodeID{0}
	records := []metadata.Record{&metadata.TopicRecord{ID: topicID, Name: topic}}
	for i := range int32(n) {
		records = append(records, &metadata.PartitionRecord{TopicID: topicID, Number: i, Partition: metadata.Partition{Replicas: one, ISR: one}})
	}
	c.apply(records...)
	c.sync()
	b := c.brokers[0]
	b.stop()
	remove := b.fs.Inject(vfs.Fault{Op: vfs.OpOpen, Pattern: "fairlead.journal", Skip: 3, Err: syscall.EMFILE})
	b.start()
	remove()
	before, err := b.dir.ReadCheckpoint(seglog.RecoveryPoints)
	if err == nil {
		err = b.m.CheckpointRecovery()
	}
	after, err2 := b.dir.ReadCheckpoint(seglog.RecoveryPoints)
	if err = errors.Join(err, err2); err != nil || len(before) != n || !maps.Equal(before, after) || len(b.m.All()) == n {
		t.Errorf("with %d logs open the recovery points are those of %d; %v", len(b.m.All()), len(after), err)
	}
	b.m.RetryMissing(c.now, c.wall())
	if got := len(b.m.All()); got != n || len(b.m.FailedLogs()) != 0 {
		t.Errorf("%d logs are open, want %d; failed: %v", got, n, b.m.FailedLogs())
	}
}

// A replica that is elected before it could truncate, for lack of a handle, leads when it has.
func TestALeaderThatOwesATruncation(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	first, second := c.brokers[0], c.brokers[1]
	first.produce(partition.AcksLeader, "a")
	c.settle(3)
	first.produce(partition.AcksLeader, "b") // nobody else has it
	c.lead(1)
	c.sync()
	second.produce(partition.AcksLeader, "x")
	remove := first.fs.Inject(vfs.Fault{Op: vfs.OpOpen, Err: syscall.EMFILE})
	first.fetch()
	c.lead(0)
	c.sync()
	wantCode(t, "a produce to it", first.produce(partition.AcksLeader, "c").Code, kafka.KafkaStorageError)
	c.settle(4)
	if _, r := second.read(0, partition.ReadUncommitted); r.LogStart != 0 || second.partition().Describe().LogEnd != 2 {
		t.Errorf("meanwhile the follower has %+v", second.partition().Describe())
	}
	remove()
	c.settle(4)
	wantCode(t, "a produce when it has truncated", first.produce(partition.AcksAll, "d").Code, pending)
	c.settle(4)
	for _, b := range c.brokers {
		if got := b.readAll(); fmt.Sprint(got) != "[0=a 1=d]" {
			t.Errorf("broker %d holds %v", b.id, got)
		}
		if err := b.m.Failure(); err != nil || len(b.m.FailedLogs()) != 0 {
			t.Errorf("broker %d: %v, failed logs %v", b.id, err, b.m.FailedLogs())
		}
	}
}

// A reader that misses a file, which something else has just deleted, says nothing of the log.
func TestAReaderThatIsOvertakenHarmsNobody(t *testing.T) {
	c := newCluster(t, 1, func(o *partition.Options) { o.Files = seglog.NewFilePool(1) })
	c.topic(0)
	b := c.brokers[0]
	b.produce(partition.AcksLeader, "a")
	c.set("internal.segment.bytes", "100")
	b.produce(partition.AcksLeader, "b") // a segment of its own: the file of the first is not open any more
	remove := b.fs.Inject(vfs.Fault{Op: vfs.OpOpen, Pattern: "*0000.log", Err: fs.ErrNotExist})
	_, r := b.read(0, partition.ReadUncommitted)
	wantCode(t, "a read that misses a file", r.Code, kafka.KafkaStorageError)
	remove()
	if values, r := b.read(0, partition.ReadUncommitted); r.Code != kafka.None || len(values) == 0 {
		t.Errorf("after that a read gives %v, %s", values, r.Code)
	}
	if err := b.m.Failure(); err != nil || len(b.m.FailedLogs()) != 0 {
		t.Errorf("the directory: %v, failed logs: %v", err, b.m.FailedLogs())
	}
}
