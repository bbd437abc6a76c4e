package server

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// dialInternal speaks to the listener between brokers.
func (v *victim) dialInternal(t *testing.T) *rawClient {
	t.Helper()
	c, err := net.Dial("tcp", v.listeners[1].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &rawClient{TCPConn: c.(*net.TCPConn), t: t}
}

// TestBadPeers: what comes on the listener between brokers from somebody who is none of this cluster.
func TestBadPeers(t *testing.T) {
	v := newVictim(t, nil)
	private := func(key kmsg.Key, body []byte) []byte {
		return wire.AppendRawRequest(nil, wire.RequestHeader{Key: key, CorrelationID: 1}, body)
	}
	foreign := quorum.Message{Cluster: "another", From: 7, To: 0}
	message, err := foreign.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	rnd := newRandom(5)
	junk := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	t.Run("junk", func(t *testing.T) {
		for i := range 200 {
			key := []kmsg.Key{wire.KeyRaft, wire.KeyQuorum, wire.KeyFollowed}[i%3]
			c := v.dialInternal(t)
			_, _ = c.Write(private(key, junk(rnd.IntN(200))))
			_, _ = c.Write(private(key, junk(i%10)))
			_ = c.Close()
		}
		v.unharmed(t)
	})
	t.Run("cut and changed messages", func(t *testing.T) {
		for n := range message {
			c := v.dialInternal(t)
			_, _ = c.Write(private(wire.KeyRaft, message[:n]))
			changed := slices.Clone(message)
			changed[n] ^= 1 << rnd.IntN(8)
			_, _ = c.Write(private(wire.KeyRaft, changed))
			_ = c.Close()
		}
		v.unharmed(t)
	})
	t.Run("a message for another broker", func(t *testing.T) {
		for _, misled := range []quorum.Message{{Cluster: "c", From: 1, To: 5}, {Cluster: "another", From: 1, To: 0}} {
			b, err := misled.AppendTo(nil)
			if err != nil {
				t.Fatal(err)
			}
			c := v.dialInternal(t)
			c.send(private(wire.KeyRaft, b))
			if b, err := c.receive(); err == nil {
				t.Errorf("%+v: the connection goes on: %q", misled, b)
			}
		}
		if got := v.peers.addresses(1); len(got) != 0 {
			t.Errorf("addresses %v of a broker that did not mean this one", got)
		}
		v.unharmed(t)
	})
	t.Run("a broker of another cluster", func(t *testing.T) {
		c := v.dialInternal(t)
		req := kmsg.NewPtrBrokerRegistrationRequest()
		req.SetVersion(req.MaxVersion())
		req.BrokerID, req.ClusterID = 5, "another"
		if resp := c.ask(req).(*kmsg.BrokerRegistrationResponse); kafka.ErrorCode(resp.ErrorCode) != kafka.InconsistentClusterID {
			t.Errorf("%v", kafka.ErrorCode(resp.ErrorCode))
		}
		v.unharmed(t)
	})
	t.Run("a broker with an id that is taken", func(t *testing.T) {
		c := v.dialInternal(t)
		req := kmsg.NewPtrBrokerRegistrationRequest()
		req.SetVersion(req.MaxVersion())
		req.BrokerID, req.ClusterID, req.IncarnationID, req.LogDirs = 0, "c", NewUUID(), [][16]byte{NewDirectoryID()}
		if resp := c.ask(req).(*kmsg.BrokerRegistrationResponse); kafka.ErrorCode(resp.ErrorCode) != kafka.DuplicateBrokerRegistration {
			t.Errorf("%v", kafka.ErrorCode(resp.ErrorCode))
		}
		v.unharmed(t)
	})
	t.Run("a follower that is none", func(t *testing.T) {
		c := v.dialInternal(t)
		for _, id := range []int32{0, 5, 1<<31 - 1} {
			req := fetchRequest("t", 0, 1<<20)
			req.ReplicaID = id
			if code := c.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode; code == 0 {
				t.Errorf("replica %d was served", id)
			}
		}
		v.unharmed(t)
	})
	t.Run("ends of logs from a broker that is not registered", func(t *testing.T) {
		c := v.dialInternal(t)
		report := metactl.LogEndsRequest{BrokerID: 9, Ends: []metactl.LogEnd{{EndOffset: 1 << 60}}}
		c.send(private(wire.KeyQuorum, report.AppendTo(nil)))
		if b, err := c.receive(); err != nil || len(b) < 6 {
			t.Errorf("%v", err)
		}
		v.unharmed(t)
	})
}

// TestOneBrokerAfterTheOtherRestarts while a client produces: nothing fails, is lost or doubled.
func TestOneBrokerAfterTheOtherRestarts(t *testing.T) {
	all := cluster(t, 3, config.Values{"default.replication.factor": "3", "min.insync.replicas": "2"})
	all[0].create("t", 3)
	cl := all[0].client()
	var want []string
	for round, m := range all {
		for i := range 20 {
			value := string(rune('a'+round)) + string(rune('a'+i))
			want = append(want, value)
			put(t, cl, "t", value)
			if i == 10 {
				m.stop()
			}
		}
		m.start()
		m.serves()
		eventually(t, "all are in sync", func() bool {
			return len(m.images.Current().TopicByName("t").Partition(0).ISR) == 3
		})
		cl.Close()
		cl = m.client() // its address is another now
	}
	if got := all[0].values("t", len(want)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
