package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/raftlog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TestWhatIsWrongWithADirectoryShowsAtOnce, in one line that says what and where, and nothing is changed by it.
func TestWhatIsWrongWithADirectoryShowsAtOnce(t *testing.T) {
	fresh := func(t *testing.T) *machine { return machines(t, 1, nil)[0] }
	dir := func(m *machine) string { return m.settings["log.dirs"] }
	t.Run("not formatted", func(t *testing.T) {
		m := fresh(t)
		_, err := m.open()
		refused(t, err, "not formatted", dir(m))
	})
	t.Run("of another node", func(t *testing.T) {
		m := fresh(t)
		m.format()
		m.settings["node.id"] = "7"
		_, err := m.open()
		refused(t, err, "belongs to broker 0", dir(m))
	})
	t.Run("of another cluster", func(t *testing.T) {
		m := fresh(t)
		m.format()
		m.settings["cluster.id"] = "d"
		_, err := m.open()
		refused(t, err, "belongs to cluster c, not to d", dir(m))
	})
	t.Run("in use by another process", func(t *testing.T) {
		m := fresh(t)
		m.format()
		lock, err := vfs.OS().Lock(filepath.Join(dir(m), ".lock"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.open()
		refused(t, err, "locked by another process", dir(m))
		if !errors.Is(err, vfs.ErrLocked) {
			t.Errorf("%v is no vfs.ErrLocked", err)
		}
		_ = lock.Close()
		m.start() // and it starts when the other has gone
		m.serves()
	})
	t.Run("a file", func(t *testing.T) {
		m := fresh(t)
		if err := os.WriteFile(dir(m), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := m.open()
		refused(t, err, dir(m))
	})
	t.Run("with an identity that cannot be read", func(t *testing.T) {
		m := fresh(t)
		m.format()
		if err := os.WriteFile(filepath.Join(dir(m), "meta.properties"), []byte("no\x00thing"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := m.open()
		refused(t, err, "meta.properties", dir(m))
	})
	t.Run("with the quorum's files of another directory", func(t *testing.T) {
		m := fresh(t)
		m.format()
		m2 := fresh(t)
		m2.format()
		if err := errors.Join(os.RemoveAll(filepath.Join(dir(m), quorumDir)), os.CopyFS(filepath.Join(dir(m), quorumDir), os.DirFS(filepath.Join(dir(m2), quorumDir)))); err != nil {
			t.Fatal(err)
		}
		_, err := m.open()
		refused(t, err, quorumDir)
	})
}

func TestAPortInUseShowsAtOnce(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	m := machines(t, 1, nil)[0]
	m.format()
	for _, c := range []struct{ what, name, value string }{
		{"listener PLAINTEXT", "listeners", "PLAINTEXT://" + taken.Addr().String() + ",CONTROLLER://127.0.0.1:0"},
		{"listener CONTROLLER", "listeners", "PLAINTEXT://127.0.0.1:0,CONTROLLER://" + taken.Addr().String()},
		{"admin endpoint", "fairlead.admin.address", taken.Addr().String()},
	} {
		before, had := m.settings[c.name]
		m.settings[c.name] = c.value
		_, err := m.open()
		refused(t, err, c.what, taken.Addr().String(), "address already in use")
		if m.settings[c.name] = before; !had {
			delete(m.settings, c.name)
		}
	}
	m.start() // sockets and lock were given back each time
	m.serves()
}

func TestASecondBootstrapIsRefused(t *testing.T) {
	m := machines(t, 1, nil)[0]
	m.format()
	for _, o := range []FormatOptions{m.founding, {ClusterID: "d", Voters: []quorum.Voter{{Node: 0, Directory: m.founding.Directory}}, Directory: m.founding.Directory}, {ClusterID: "c"}} {
		if err := Format(vfs.OS(), m.broker(), o); !errors.Is(err, ErrFormatted) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), m.settings["log.dirs"]) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	// Without its identity the folder of the quorum still knows that it has voted.
	if err := os.Remove(filepath.Join(m.settings["log.dirs"], "meta.properties")); err != nil {
		t.Fatal(err)
	}
	o := m.founding
	o.ClusterID = "d"
	if err := Format(vfs.OS(), m.broker(), o); !errors.Is(err, raftlog.ErrForeign) {
		t.Errorf("another cluster in the quorum's folder of c: %v", err)
	}
	m.format() // the same again is the rest of a format that was cut off
	m.start()
	m.serves()
}

// TestACleanStopKeepsWhatWasWritten: records, groups' offsets and the state of producers are there after a restart.
func TestACleanStopKeepsWhatWasWritten(t *testing.T) {
	m := cluster(t, 1, nil)[0]
	m.create("t", 1)
	put(t, m.client(), "t", "a", "b", "c")
	raw := m.dial()
	id := raw.initProducerID()
	batch := idempotent(t, id, 0, "once")
	if code, offset := raw.produce("t", -1, batch); code != kafka.None || offset != 3 {
		t.Fatalf("%v at %d", code, offset)
	}
	group := m.client(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	fetches := group.PollFetches(limited(t))
	if err := errors.Join(fetches.Err(), group.CommitRecords(limited(t), fetches.Records()...)); err != nil {
		t.Fatal(err)
	}
	committed := fetches.Records()[len(fetches.Records())-1].Offset + 1
	group.Close()
	epoch := m.members.state.brokerEpoch()

	m.stop()
	if _, err := os.Stat(filepath.Join(m.settings["log.dirs"], ".kafka_cleanshutdown")); err != nil {
		t.Errorf("no mark of the clean stop: %v", err)
	}
	m.start()
	m.serves()
	if e := m.members.state.brokerEpoch(); e <= epoch {
		t.Errorf("broker epoch %d after %d", e, epoch)
	}
	raw = m.dial()
	if code, offset := raw.produce("t", -1, batch); code != kafka.None || offset != 3 {
		t.Errorf("a batch that is repeated after the restart: %v at %d, want the first answer", code, offset)
	}
	if code, _ := raw.produce("t", -1, idempotent(t, id, 5, "gap")); code != kafka.OutOfOrderSequenceNumber {
		t.Errorf("a gap after the restart: %v", code)
	}
	if next := raw.initProducerID(); next == id {
		t.Errorf("producer id %d was given twice", id)
	}
	put(t, m.client(), "t", "d")
	if got := m.values("t", 5); !slices.Equal(got, []string{"a", "b", "c", "once", "d"}) {
		t.Errorf("%v", got)
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Group, fetch.Topics = "g", []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	fetch.Version = 7
	eventually(t, "the group's offset is back", func() bool {
		resp := raw.ask(fetch).(*kmsg.OffsetFetchResponse)
		return resp.ErrorCode == 0 && resp.Topics[0].Partitions[0].Offset == committed
	})
}

// TestAWipedDirectoryComesBackAsANewReplica: formatted again, as one that joins, it neither votes with what it forgot nor is in sync before
// it has copied everything.
func TestAWipedDirectoryComesBackAsANewReplica(t *testing.T) {
	all := cluster(t, 3, nil)
	all[0].create("t", 3)
	cl := all[0].client()
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("record ", i))
	}
	put(t, cl, "t", want...)
	m := all[2]
	before := m.images.Current().Broker(2)
	m.stop()
	put(t, cl, "t", "while it is away")
	if err := os.RemoveAll(m.settings["log.dirs"]); err != nil {
		t.Fatal(err)
	}
	_, err := m.open()
	refused(t, err, "not formatted")
	m.founding = FormatOptions{ClusterID: "c"} // no voters: it joins
	m.format()
	m.start()
	m.serves()
	eventually(t, "the new replica is in sync", func() bool {
		p := m.images.Current().TopicByName("t").Partition(0)
		return slices.Contains(p.ISR, 2) && len(p.ISR) == 3
	})
	after := m.images.Current().Broker(2)
	if after.Directory == before.Directory || after.Epoch <= before.Epoch {
		t.Errorf("directory %v, epoch %d after %v, %d", after.Directory, after.Epoch, before.Directory, before.Epoch)
	}
	p, _ := m.partitions.Get(kafka.TopicPartition{Topic: "t"})
	if end := p.Describe().LogEnd; end != 101 {
		t.Errorf("log end %d of the new replica, want 101", end)
	}
	for _, other := range all[:2] {
		eventually(t, fmt.Sprintf("broker %d knows the new directory", other.id), func() bool {
			return other.images.Current().Broker(2).Directory == after.Directory
		})
	}
}

// TestAStaleBrokerEpochIsRefused: what a broker says under an earlier registration has no effect.
func TestAStaleBrokerEpochIsRefused(t *testing.T) {
	m := cluster(t, 1, nil)[0]
	epoch := m.members.state.brokerEpoch()
	beat := kmsg.NewPtrBrokerHeartbeatRequest()
	beat.SetVersion(beat.MaxVersion())
	beat.BrokerID, beat.BrokerEpoch, beat.WantFence = 0, int64(epoch)-1, true
	resp, err := m.controller.Do(limited(t), beat)
	if err != nil || kafka.ErrorCode(resp.(*kmsg.BrokerHeartbeatResponse).ErrorCode) != kafka.StaleBrokerEpoch {
		t.Errorf("heartbeat: %+v %v", resp, err)
	}
	ids := kmsg.NewPtrAllocateProducerIDsRequest()
	ids.BrokerID, ids.BrokerEpoch = 0, int64(epoch)-1
	resp, err = m.controller.Do(limited(t), ids)
	if err != nil || kafka.ErrorCode(resp.(*kmsg.AllocateProducerIDsResponse).ErrorCode) != kafka.StaleBrokerEpoch {
		t.Errorf("producer ids: %+v %v", resp, err)
	}
	alter := kmsg.NewPtrAlterPartitionRequest()
	alter.SetVersion(alter.MaxVersion())
	alter.BrokerID, alter.BrokerEpoch = 0, int64(epoch)-1
	resp, err = m.controller.Do(limited(t), alter)
	if err != nil || kafka.ErrorCode(resp.(*kmsg.AlterPartitionResponse).ErrorCode) != kafka.StaleBrokerEpoch {
		t.Errorf("alter partition: %+v %v", resp, err)
	}
	if b := m.images.Current().Broker(0); b.Fenced || b.Epoch != epoch {
		t.Errorf("%+v", b)
	}
}

// TestReadinessFollowsThePhases: not ready, with the reason, until clients are served, and not any more when the broker stops; alive all along.
func TestReadinessFollowsThePhases(t *testing.T) {
	m := machines(t, 1, config.Values{"fairlead.admin.address": "127.0.0.1:0"})[0]
	m.format()
	s, err := m.open()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) (int, adminapi.Readiness) {
		var r adminapi.Readiness
		status, _ := get(t, s, path, &r)
		return status, r
	}
	if status, r := ask("/readyz"); status != http.StatusServiceUnavailable || r.Ready || r.Phase != adminapi.Recovering || r.Reason == "" {
		t.Errorf("before: %d %+v", status, r)
	}
	if status, _ := ask("/healthz"); status != http.StatusOK {
		t.Errorf("not alive before it serves: %d", status)
	}
	end := runBroker(t, s)
	eventually(t, "it serves", func() bool { return s.readiness().Ready })
	resp, err := http.Get("http://" + s.endpoint.Addr().String() + "/readyz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("over its socket: %+v %v", resp, err)
	} else {
		resp.Body.Close()
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if status, r := ask("/readyz"); status != http.StatusServiceUnavailable || r.Phase != adminapi.Stopping {
		t.Errorf("afterwards: %d %+v", status, r)
	}
}
