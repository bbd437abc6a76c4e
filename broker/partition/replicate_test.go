package partition_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

const pending kafka.ErrorCode = -2 // not answered yet

func wantCode(t *testing.T, what string, got, want kafka.ErrorCode) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %d, want %d", what, got, want)
	}
}

func TestAcksAllWaitsForTheInSyncReplicas(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.topic(0, 1, 2)
	leader := c.brokers[0]
	all := leader.produce(partition.AcksAll, "a", "b")
	one := leader.produce(partition.AcksLeader, "c")
	wantCode(t, "acks=1", one.Code, kafka.None)
	if one.BaseOffset != 2 || one.NextOffset != 3 {
		t.Errorf("acks=1 got [%d, %d)", one.BaseOffset, one.NextOffset)
	}
	wantCode(t, "acks=all before a fetch", all.Code, pending)
	if values, r := leader.read(0, partition.ReadUncommitted); len(values) != 0 || r.HighWatermark != 0 || r.Code != kafka.None {
		t.Errorf("a consumer sees %v below watermark %d", values, r.HighWatermark)
	}
	c.brokers[1].fetch()
	c.brokers[2].fetch()
	wantCode(t, "acks=all when sent but not yet confirmed", all.Code, pending)
	c.brokers[1].fetch()
	wantCode(t, "acks=all with one of two", all.Code, pending)
	c.brokers[2].fetch()
	wantCode(t, "acks=all", all.Code, kafka.None)
	if all.BaseOffset != 0 {
		t.Errorf("base offset %d", all.BaseOffset)
	}
	values, r := leader.read(1, partition.ReadUncommitted)
	if fmt.Sprint(values) != "[1=b 2=c]" || r.HighWatermark != 3 {
		t.Errorf("a consumer sees %v below %d", values, r.HighWatermark)
	}
	c.settle(2)
	if values, _ := c.brokers[2].read(0, partition.ReadUncommitted); fmt.Sprint(values) != "[0=a 1=b 2=c]" {
		t.Errorf("a follower shows a consumer %v", values)
	}
}

func TestFailoverKeepsWhatWasAcknowledged(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.topic(0, 1, 2)
	acked := c.brokers[0].produce(partition.AcksAll, "kept")
	c.settle(2)
	wantCode(t, "acks=all", acked.Code, kafka.None)
	lost := c.brokers[0].produce(partition.AcksAll, "lost")
	c.brokers[0].kill()
	c.lead(1)
	c.settle(1)
	again := c.brokers[1].produce(partition.AcksAll, "instead")
	c.settle(3)
	wantCode(t, "acks=all at the new leader", again.Code, kafka.None)
	wantCode(t, "acks=all at the dead one", lost.Code, pending)
	// The old leader comes back with a record that nobody else has.
	c.brokers[0].start()
	c.settle(60)
	for _, b := range c.brokers {
		values, r := b.read(0, partition.ReadUncommitted)
		if fmt.Sprint(values) != "[0=kept 1=instead]" {
			t.Errorf("broker %d has %v, code %d", b.id, values, r.Code)
		}
	}
	if len(c.state().ISR) != 3 {
		t.Errorf("the ISR is %v", c.state().ISR)
	}
}

func TestMinISR(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.topic(0, 1, 2)
	c.set("min.insync.replicas", "2")
	c.settle(1)
	c.brokers[1].kill()
	c.brokers[2].kill()
	inTime := c.brokers[0].produce(partition.AcksAll, "a")
	c.settle(1100) // 33 s: both leave the ISR
	if len(c.state().ISR) != 1 {
		t.Fatalf("the ISR is %v", c.state().ISR)
	}
	wantCode(t, "acks=all that waited", inTime.Code, kafka.RequestTimedOut)
	wantCode(t, "acks=all", c.brokers[0].produce(partition.AcksAll, "b").Code, kafka.NotEnoughReplicas)
	wantCode(t, "acks=1", c.brokers[0].produce(partition.AcksLeader, "c").Code, kafka.None)
	if d := c.brokers[0].partition().Describe(); d.HighWatermark != 0 || d.LogEnd != 2 {
		t.Errorf("watermark %d of %d", d.HighWatermark, d.LogEnd)
	}
	c.brokers[1].start()
	c.settle(60)
	if d := c.brokers[0].partition().Describe(); d.HighWatermark != 2 {
		t.Errorf("watermark %d after the ISR has grown", d.HighWatermark)
	}
}

func TestLatestOffsetOfANewLeader(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	c.brokers[0].produce(partition.AcksLeader, "a")
	c.brokers[1].fetch() // it has the record, not the watermark
	c.lead(1)
	c.brokers[1].sync()
	ask := partition.ListOffsetsRequest{Timestamp: partition.TimestampLatest, CurrentLeaderEpoch: kafka.NoLeaderEpoch, Replica: kafka.NoNode}
	wantCode(t, "latest offset", c.brokers[1].partition().ListOffsets(ask).Code, kafka.OffsetNotAvailable)
	wantCode(t, "latest offset at a follower", c.brokers[0].partition().ListOffsets(ask).Code, kafka.None) // it thinks that it leads
	c.sync()
	wantCode(t, "latest offset at a follower", c.brokers[0].partition().ListOffsets(ask).Code, kafka.NotLeaderOrFollower)
	c.settle(2)
	if r := c.brokers[1].partition().ListOffsets(ask); r.Code != kafka.None || r.Offset != 1 || r.LeaderEpoch != 1 {
		t.Errorf("latest offset %+v", r)
	}
}

func TestDeleteRecordsWaitsForLiveReplicasAndSurvivesACrash(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.topic(0, 1, 2)
	for range 5 {
		c.brokers[0].produce(partition.AcksAll, "x", "y")
	}
	c.settle(2)
	leader := c.brokers[0].partition()
	answers := map[string]partition.DeleteRecordsResult{}
	del := func(name string, before kafka.Offset) {
		leader.DeleteRecords(partition.DeleteRecordsRequest{Before: before, Timeout: time.Second, Now: c.now}, func(r partition.DeleteRecordsResult) {
			answers[name] = r
		})
	}
	del("beyond", 11)
	wantCode(t, "beyond the watermark", answers["beyond"].Code, kafka.OffsetOutOfRange)
	del("three", 3)
	if _, ok := answers["three"]; ok {
		t.Error("answered before the followers have moved")
	}
	c.settle(3)
	if r, ok := answers["three"]; !ok || r.Code != kafka.None || r.LowWatermark != 3 {
		t.Errorf("answer %+v %v", r, ok)
	}
	for _, b := range c.brokers {
		b.crash()
	}
	for _, b := range c.brokers {
		b.start()
		if d := b.partition().Describe(); d.LogStart != 3 {
			t.Errorf("after a power failure broker %d starts at %d", b.id, d.LogStart)
		}
	}
	// A dead replica is not waited for.
	leader = c.brokers[0].partition()
	c.settle(30)
	c.brokers[2].kill()
	c.apply(&metadata.BrokerChange{ID: 2, Epoch: 3, Fenced: true})
	c.lead(0)
	c.settle(3)
	high := leader.Describe().HighWatermark
	del("all", -1)
	c.settle(4)
	if r := answers["all"]; r.Code != kafka.None || r.LowWatermark != high {
		t.Errorf("answer %+v, want low watermark %d", r, high)
	}
	del("again", 1)
	c.settle(1)
	if r := answers["again"]; r.Code != kafka.None || r.LowWatermark != high {
		t.Errorf("below the start: %+v", r)
	}
}

func TestAFollowerBehindTheLogStartStartsOver(t *testing.T) {
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
	c.settle(60)
	d := c.brokers[1].partition().Describe()
	if d.LogStart != 3 || d.LogEnd != 4 || d.HighWatermark != 4 {
		t.Errorf("the follower has [%d, %d) watermark %d", d.LogStart, d.LogEnd, d.HighWatermark)
	}
}

func TestCleanStopAndStart(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	c.brokers[0].produce(partition.AcksAll, "a", "b")
	c.brokers[0].stop()
	c.brokers[0].start()
	c.settle(1)
	if epoch, ok := c.brokers[0].dir.CleanShutdown(); !ok || epoch != 0 {
		t.Errorf("clean stop of epoch %d, %v", epoch, ok)
	}
	if p := c.brokers[0].m.Progress(); p.Opened != 1 || p.Total != 1 || p.ScannedBytes != 0 {
		t.Errorf("progress %+v", p)
	}
	values, r := c.brokers[0].read(0, partition.ReadUncommitted)
	if fmt.Sprint(values) != "[0=a 1=b]" || r.HighWatermark != 2 {
		t.Errorf("has %v below %d", values, r.HighWatermark)
	}
}

// While a log is recovered the progress grows with every block that is read, not only when the log is open.
func TestRecoveryTellsWhatItReads(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	c.brokers[0].produce(partition.AcksAll, "a", "b")
	c.brokers[0].kill()
	c.brokers[0].start()
	if p := c.brokers[0].m.Progress(); p.Opening || p.Opened != 1 || p.Total != 1 || p.ReadBytes == 0 || p.Looked < 2 {
		t.Errorf("progress %+v", p)
	}
}

func TestDeletedAndStrayFolders(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	c.brokers[0].produce(partition.AcksLeader, "a")
	waiting := c.brokers[0].produce(partition.AcksAll, "b")
	c.brokers[1].kill() // does not see the deletion
	old := c.brokers[0].partition()
	before := c.image
	c.apply(&metadata.RemoveTopic{ID: topicID})
	delta := metadata.Delta{Partitions: []metadata.PartitionDelta{{
		TopicIDPartition: old.ID(), Topic: topic, Before: before.Partition(old.ID()),
	}}}
	c.brokers[0].applied = c.version
	c.brokers[0].m.Apply(c.image, &delta, c.now, c.wall())
	wantCode(t, "a waiting produce", waiting.Code, kafka.NotLeaderOrFollower)
	if _, code := c.brokers[0].m.Get(old.TopicPartition()); code != kafka.UnknownTopicOrPartition {
		t.Errorf("code %d", code)
	}
	if last := c.brokers[0].changes[len(c.brokers[0].changes)-1]; !last.Gone || last.Partition != old {
		t.Errorf("change %+v", last)
	}
	folder := func(kind seglog.DirKind) string {
		return seglog.DirName(old.TopicPartition(), kind, hex.EncodeToString(topicID[:12])+"00000000")
	}
	stray := folder(seglog.DirStray)
	folders := func(b *broker) (names []string) {
		entries, err := b.fs.ReadDir("data")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir {
				names = append(names, e.Name)
			}
		}
		return names
	}
	if got := folders(c.brokers[0]); len(got) != 1 || got[0] != folder("delete") {
		t.Errorf("folders %v", got)
	}
	if err := c.brokers[0].m.Purge(c.now.Add(59 * time.Second)); err != nil || len(folders(c.brokers[0])) != 1 {
		t.Errorf("removed early, %v", err)
	}
	if err := c.brokers[0].m.Purge(c.now.Add(time.Minute)); err != nil || len(folders(c.brokers[0])) != 0 {
		t.Errorf("not removed, %v", err)
	}
	// The other broker finds the topic created anew when it starts.
	topicWas := topicID
	topicID = kafka.TopicID{9}
	defer func() { topicID = topicWas }()
	c.topic(0, 1)
	c.brokers[1].start()
	c.settle(2)
	if got := folders(c.brokers[1]); !slices.Equal(got, []string{"t-0", stray}) {
		t.Errorf("folders %v", got)
	}
	if d := c.brokers[1].partition().Describe(); d.LogEnd != 0 || d.Role != replica.Follower {
		t.Errorf("the new partition has %+v", d)
	}
}

func TestFencedBrokerServesNothingAsLeader(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	b := c.brokers[0]
	b.m.Fence()
	wantCode(t, "produce", b.produce(partition.AcksLeader, "a").Code, kafka.NotLeaderOrFollower)
	if _, r := b.read(0, partition.ReadUncommitted); r.Code != kafka.NotLeaderOrFollower {
		t.Errorf("fetch: %d", r.Code)
	}
	b.m.Unfence()
	wantCode(t, "produce", b.produce(partition.AcksLeader, "a").Code, kafka.None)
}

// Several may have lost it, and then have no id to be told apart by.
func TestLogsWithoutTheirTopicIDs(t *testing.T) {
	c, _ := failing(t)
	b := c.brokers[0]
	b.produce(partition.AcksAll, "a")
	b.stop()
	for _, folder := range []string{"t-0", "spare-0"} {
		if err := b.fs.Remove("data/" + folder + "/partition.metadata"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.fs.MkdirAll("data/alien-0"), vfs.WriteFileAtomic(b.fs, "data/alien-0/00000000000000000000.log", nil)); err != nil {
		t.Fatal(err)
	}
	b.start()
	if got := b.readAll(); fmt.Sprint(got) != "[0=a]" {
		t.Errorf("holds %v", got)
	}
	if got := len(b.m.All()); got != 2 {
		t.Errorf("%d logs are open, want 2", got)
	}
	if _, err := b.fs.Stat("data/alien-0"); err == nil {
		t.Error("a log of no topic was not put aside")
	}
}

func TestALogWithoutItsTopicIDIsAdopted(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	b := c.brokers[0]
	b.produce(partition.AcksAll, "a")
	b.stop()
	if err := b.fs.Remove("data/t-0/partition.metadata"); err != nil {
		t.Fatal(err)
	}
	b.start()
	if got := b.readAll(); fmt.Sprint(got) != "[0=a]" {
		t.Errorf("holds %v", got)
	}
	if id := b.partition().ID().TopicID; id != topicID {
		t.Errorf("topic id %s", id)
	}
}
