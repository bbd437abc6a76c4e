package quorum

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TestMetadataIsDecidedPublishedAndThereAfterARestart drives the controller through a sole voter: each image follows from the one before, and
// a restart gives the image that was there, from a snapshot and the entries behind it.
func TestMetadataIsDecidedPublishedAndThereAfterARestart(t *testing.T) {
	mem := vfs.NewMem(1)
	self := Voter{Node: 1, Directory: kafka.DirectoryID{1}}
	f := Founding{ClusterID: "c", Voters: []Voter{self}, State: metactl.Genesis("c")}
	if err := Bootstrap(mem, "q", self, f); err != nil {
		t.Fatal(err)
	}
	var image *metadata.Image
	now := kafka.Elapsed(0)
	open := func() *Node {
		image = nil
		n, err := Open(Options{
			FS: mem, Dir: "q", Self: self, Send: func(kafka.NodeID, Message) {}, Jitter: func(int64) int64 { return 0 }, Limits: Limits{SnapshotEntries: 5},
			Machine: NewMetadataMachine(MetadataOptions{
				Controller: metactl.New(metactl.Options{}, nil), Wall: func() kafka.Timestamp { return 1 }, Rand: rand.NewPCG(1, 1),
				OnImage: func(i *metadata.Image, d metadata.Delta) {
					if image != nil && d.From != image.Version() || d.To != i.Version() {
						t.Errorf("delta from %d to %d leads from %d to %d", d.From, d.To, image.Version(), i.Version())
					}
					image = i
				},
			}),
		}, now)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			now = now.Add(10 * time.Millisecond)
			n.Tick(now)
			n.Process(now)
		}
		return n
	}
	n := open()
	ask := func(req kmsg.Request) kmsg.Response {
		var resp kmsg.Response
		n.Submit(req, now, func(reply any, err error) {
			if err != nil {
				t.Fatal(err)
			}
			resp = reply.(kmsg.Response)
		})
		n.Process(now)
		return resp
	}
	register := kmsg.NewPtrBrokerRegistrationRequest()
	register.ClusterID, register.BrokerID, register.IncarnationID, register.LogDirs = "c", 1, kafka.UUID{5}, [][16]byte{self.Directory}
	epoch := ask(register).(*kmsg.BrokerRegistrationResponse).BrokerEpoch
	beat := kmsg.NewPtrBrokerHeartbeatRequest()
	beat.BrokerID, beat.BrokerEpoch, beat.CurrentMetadataOffset = 1, epoch, int64(image.Version())
	if r := ask(beat).(*kmsg.BrokerHeartbeatResponse); r.ErrorCode != 0 || r.IsFenced {
		t.Fatalf("heartbeat: %+v", r)
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 1
		create := kmsg.NewPtrCreateTopicsRequest()
		create.Topics = append(create.Topics, topic)
		if r := ask(create).(*kmsg.CreateTopicsResponse); r.Topics[0].ErrorCode != 0 {
			t.Fatalf("create %s: %+v", name, r.Topics[0])
		}
	}
	before := image
	if before.NumPartitions() != 14 || n.Status().Snapshot < 2 {
		t.Fatalf("%d partitions, snapshot at %d", before.NumPartitions(), n.Status().Snapshot)
	}
	mem.Crash()
	n = open()
	if !reflect.DeepEqual(before.Records(), image.Records()) {
		t.Fatalf("after the restart\n%v\nwant\n%v", image.Records(), before.Records())
	}
	// The first entry of the new leadership is in the version.
	if image.Version() <= before.Version() || !n.Leading() {
		t.Fatalf("version %d, before %d", image.Version(), before.Version())
	}
	registered := image.Broker(1).Epoch
	n.PeerDown(1, registered+1, now)
	n.Process(now)
	if image.Broker(1).Fenced {
		t.Error("a broker is fenced for the death of a process with another registration")
	}
	n.PeerDown(1, registered, now)
	n.Process(now)
	if !image.Broker(1).Fenced {
		t.Error("a suspected broker is not fenced")
	}
}
