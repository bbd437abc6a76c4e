package metactl

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const testCluster = "test-cluster"

// world is a controller with its log: what it proposes is encoded, committed at once and applied.
type world struct {
	t     testing.TB
	c     *Controller
	now   kafka.Elapsed
	rnd   *rand.PCG
	index uint64
	log   [][]byte
	delta metadata.Delta // of the last commit
}

func newWorld(t testing.TB, o Options) *world {
	w := &world{t: t, c: New(o, nil), rnd: rand.NewPCG(1, 2), now: kafka.Elapsed(time.Hour)}
	w.commit([]metadata.Record{&metadata.ClusterRecord{ClusterID: testCluster}})
	w.c.BecomeLeader(w.now)
	return w
}

func (w *world) image() *metadata.Image { return w.c.Image() }

// commit takes records through their encoding into the log and the controller.
func (w *world) commit(records []metadata.Record) {
	w.delta = metadata.Delta{}
	if len(records) == 0 {
		return
	}
	entry := metadata.EncodeRecords(nil, records)
	decoded, err := metadata.DecodeRecords(entry)
	if err != nil {
		w.t.Fatal(err)
	}
	w.index++
	w.log = append(w.log, entry)
	_, w.delta = w.c.Apply(w.index, decoded)
}

func decide[R kmsg.Response](w *world, req kmsg.Request) R {
	w.t.Helper()
	records, resp := w.c.Decide(req, w.now, 0, w.rnd)
	w.commit(records)
	return resp.(R)
}

func (w *world) tick(d time.Duration) {
	w.now = w.now.Add(d)
	w.commit(w.c.Tick(w.now))
}

// wait lets time pass with ticks.
func (w *world) wait(d time.Duration) {
	for range d / (250 * time.Millisecond) {
		w.tick(250 * time.Millisecond)
	}
}

// checkReplay compares the live image with the one that the log gives, and with the one that its snapshot gives.
func (w *world) checkReplay() {
	w.t.Helper()
	replayed := &metadata.Image{}
	for i, entry := range w.log {
		records, err := metadata.DecodeRecords(entry)
		if err != nil {
			w.t.Fatal(err)
		}
		replayed, _ = replayed.Apply(uint64(i+1), records)
	}
	live := metadata.EncodeRecords(nil, w.image().Records())
	if !bytes.Equal(live, metadata.EncodeRecords(nil, replayed.Records())) {
		w.t.Error("replaying the log gives another image than live operation gave")
	}
	records, err := metadata.DecodeRecords(live)
	if err != nil {
		w.t.Fatal(err)
	}
	restored := metadata.FromRecords(w.index, records)
	if !bytes.Equal(live, metadata.EncodeRecords(nil, restored.Records())) {
		w.t.Error("the snapshot gives another image than the one it was taken of")
	}
	if d := metadata.Diff(w.image(), restored); !d.Empty() {
		w.t.Errorf("the image restored from the snapshot differs: %+v", d)
	}
}

func dir(name string) (id [16]byte) {
	copy(id[:], name+"................")
	return id
}

func registration(node int32, directory, incarnation string, previous int64) *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = 4
	req.BrokerID, req.ClusterID, req.PreviousBrokerEpoch = node, testCluster, previous
	req.IncarnationID, req.LogDirs = dir(incarnation), [][16]byte{dir(directory)}
	l := kmsg.NewBrokerRegistrationRequestListener()
	l.Name, l.Host, l.Port = "PLAINTEXT", fmt.Sprintf("broker-%d", node), 9092
	req.Listeners = append(req.Listeners, l)
	return req
}

func (w *world) heartbeat(node int32, fence, stop bool) *kmsg.BrokerHeartbeatResponse {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.WantFence, req.WantShutdown = node, fence, stop
	req.BrokerEpoch = -1
	if b := w.image().Broker(kafka.NodeID(node)); b != nil {
		req.BrokerEpoch = int64(b.Epoch)
	}
	req.CurrentMetadataOffset = int64(w.index)
	return decide[*kmsg.BrokerHeartbeatResponse](w, req)
}

// start registers and unfences brokers 0 to n-1.
func (w *world) start(n int32) {
	w.t.Helper()
	for id := range n {
		resp := decide[*kmsg.BrokerRegistrationResponse](w, registration(id, fmt.Sprintf("dir-%d", id), fmt.Sprintf("run-%d-1", id), -1))
		if resp.ErrorCode != 0 {
			w.t.Fatalf("registration of broker %d: error code %d", id, resp.ErrorCode)
		}
		if hb := w.heartbeat(id, false, false); hb.IsFenced {
			w.t.Fatalf("broker %d is fenced after a heartbeat that asks for the opposite: %+v", id, hb)
		}
	}
}

func newTopic(name string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, replicas
	for _, c := range configs {
		k, v, _ := strings.Cut(c, "=")
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = k, &v
		rt.Configs = append(rt.Configs, rc)
	}
	return rt
}

// placedTopic has its replicas by hand.
func placedTopic(name string, assignment [][]int32, configs ...string) kmsg.CreateTopicsRequestTopic {
	rt := newTopic(name, -1, -1, configs...)
	for i, replicas := range assignment {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), replicas
		rt.ReplicaAssignment = append(rt.ReplicaAssignment, a)
	}
	return rt
}

func (w *world) create(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsResponse {
	w.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.Topics = 7, topics
	return decide[*kmsg.CreateTopicsResponse](w, req)
}

func describePartition(p *metadata.Partition) string {
	if p == nil {
		return "gone"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "leader=%d epoch=%d/%d replicas=%v isr=%v", p.Leader, p.LeaderEpoch, p.Epoch, p.Replicas, p.ISR)
	for _, l := range []struct {
		name string
		list []kafka.NodeID
	}{{"elr", p.ELR}, {"lastKnown", p.LastKnownELR}, {"adding", p.Adding}, {"removing", p.Removing}} {
		if len(l.list) > 0 {
			fmt.Fprintf(&b, " %s=%v", l.name, l.list)
		}
	}
	if p.Recovery == metadata.Recovering {
		b.WriteString(" recovering")
	}
	return b.String()
}
