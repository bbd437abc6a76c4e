package partition_test

import (
	"io/fs"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// step commits records, and every broker sees them with the delta that goes with them.
func (c *cluster) step(records ...metadata.Record) {
	var delta metadata.Delta
	c.version++
	c.image, delta = c.image.Apply(c.version, records)
	for _, b := range c.brokers {
		b.applied = c.version
		b.m.Apply(c.image, &delta, c.now, c.wall())
	}
}

func (c *cluster) drop() { c.step(&metadata.RemoveTopic{ID: topicID}) }

func TestAFolderStaysForAsLongAsTheSettingSays(t *testing.T) {
	for _, delay := range []int64{math.MaxInt64, math.MaxInt64 / int64(time.Millisecond)} {
		c := newCluster(t, 1, func(o *partition.Options) {
			o.Settings = func(*metadata.Image, string) config.Topic { // the broker's, as the topic's go first
				s := config.ResolveTopic(config.Layers{})
				s.FileDeleteDelayMs = delay
				return s
			}
		})
		c.topic(0)
		c.drop()
		if err := c.brokers[0].m.Purge(c.now.Add(time.Hour)); err != nil || len(c.brokers[0].folders()) != 1 {
			t.Errorf("file.delete.delay.ms=%d: folders %v are left, %v", delay, c.brokers[0].folders(), err)
		}
	}
}

func TestAFlushThatIsNeverDue(t *testing.T) {
	for _, ms := range []int64{math.MaxInt64, math.MaxInt64 / int64(time.Millisecond)} {
		c := newCluster(t, 1, nil)
		c.topic(0)
		c.set("flush.ms", strconv.FormatInt(ms, 10))
		c.settle(2)
		c.brokers[0].produce(partition.AcksLeader, "a")
		c.settle(4)
		if c.brokers[0].partition().Describe().UnflushedBytes == 0 {
			t.Errorf("flush.ms=%d: flushed at once", ms)
		}
	}
}

// A folder that cannot be removed costs a line in the log each time: not one in every second.
func TestAFolderThatCannotBeRemovedIsTriedAgainLater(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	b := c.brokers[0]
	c.drop()
	c.now = c.now.Add(time.Minute)
	remove := b.fs.Inject(vfs.Fault{Op: vfs.OpRemove, Pattern: "*-delete", Err: fs.ErrPermission})
	if b.m.Purge(c.now) == nil {
		t.Fatal("no error is told")
	}
	if err := b.m.Purge(c.now.Add(time.Second)); err != nil {
		t.Errorf("told again a second later: %v", err)
	}
	if err := b.m.Failure(); err != nil {
		t.Errorf("the directory is offline: %v", err)
	}
	remove()
	if err := b.m.Purge(c.now.Add(time.Minute)); err != nil || len(b.folders()) != 0 {
		t.Errorf("a minute later: %v, folders %v are left", err, b.folders())
	}
}

// Topics that come and go leave nothing behind, and one that is made again under its old name has settings of its own.
func TestSettingsGoWithTheirTopic(t *testing.T) {
	asked := 0
	c := newCluster(t, 1, func(o *partition.Options) {
		resolve := o.Settings
		o.Settings = func(image *metadata.Image, topic string) config.Topic {
			asked++
			return resolve(image, topic)
		}
	})
	c.topic(0)
	c.set("flush.messages", "1")
	c.drop()
	before := asked
	one := []kafka.NodeID{0}
	c.step(&metadata.TopicRecord{ID: topicID, Name: topic}, &metadata.PartitionRecord{TopicID: topicID, Partition: metadata.Partition{Replicas: one, ISR: one}})
	if asked == before {
		t.Error("settings are kept for a topic that is gone")
	}
	if got := c.brokers[0].partition().Settings().FlushMessages; got != math.MaxInt64 {
		t.Errorf("flush.messages is %d", got)
	}
}
