package coordinator

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// clientBroker is the least broker that a client's consumer group works with: it answers the group APIs by Groups, knows
// one topic "t", and has no records.
type clientBroker struct {
	t          *testing.T
	groups     *Groups
	listener   net.Listener
	partitions int32
	wg         sync.WaitGroup
	mu         sync.Mutex
	conns      []net.Conn
}

func startClientBroker(t *testing.T, groups *Groups, partitions int32) *clientBroker {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &clientBroker{t: t, groups: groups, listener: l, partitions: partitions}
	b.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns = append(b.conns, c)
			b.mu.Unlock()
			b.wg.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		b.mu.Lock()
		for _, c := range b.conns {
			_ = c.Close()
		}
		b.mu.Unlock()
		b.wg.Wait()
	})
	return b
}

// serve answers the requests of one connection one after the other.
func (b *clientBroker) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		idLen := int16(binary.BigEndian.Uint16(frame[8:]))
		body := frame[10+max(idLen, 0):]
		if req.IsFlexible() {
			body = body[1:] // no tags
		}
		if err := req.ReadFrom(body); err != nil {
			b.t.Errorf("%s v%d: %v", kmsg.NameForKey(key), version, err)
			return
		}
		out := append(make([]byte, 4), frame[4:8]...)
		resp := b.answer(req, string(frame[10:10+max(idLen, 0)]))
		if resp.IsFlexible() && key != 18 {
			out = append(out, 0)
		}
		out = resp.AppendTo(out)
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

var clientBrokerVersions = map[int16][2]int16{
	1: {4, 11}, 2: {1, 6}, 3: {0, 12}, 8: {2, 9}, 9: {1, 9}, 10: {0, 6}, 11: {0, 9}, 12: {0, 4}, 13: {0, 5}, 14: {0, 5},
	15: {0, 6}, 16: {0, 5}, 18: {0, 3}, 42: {0, 2}, 47: {0, 0},
}

var clientTopicID = kafka.TopicID{15: 1}

func (b *clientBroker) answer(req kmsg.Request, clientID string) kmsg.Response {
	addr := b.listener.Addr().(*net.TCPAddr)
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key, v := range clientBrokerVersions {
			resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MinVersion: v[0], MaxVersion: v[1]})
		}
		return resp
	case *kmsg.MetadataRequest:
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{NodeID: 0, Host: addr.IP.String(), Port: int32(addr.Port)})
		t := kmsg.NewMetadataResponseTopic()
		t.Topic, t.TopicID = kmsg.StringPtr("t"), clientTopicID
		for p := range b.partitions {
			mp := kmsg.NewMetadataResponseTopicPartition()
			mp.Partition, mp.Replicas, mp.ISR = p, []int32{0}, []int32{0}
			t.Partitions = append(t.Partitions, mp)
		}
		resp.Topics = append(resp.Topics, t)
		return resp
	case *kmsg.FindCoordinatorRequest:
		resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
		resp.Host, resp.Port = addr.IP.String(), int32(addr.Port)
		for _, k := range req.CoordinatorKeys {
			resp.Coordinators = append(resp.Coordinators, kmsg.FindCoordinatorResponseCoordinator{Key: k, Host: resp.Host, Port: resp.Port})
		}
		return resp
	case *kmsg.ListOffsetsRequest:
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, t := range req.Topics {
			rt := kmsg.ListOffsetsResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				rp := kmsg.NewListOffsetsResponseTopicPartition()
				rp.Partition, rp.Offset, rp.LeaderEpoch = p.Partition, 0, 0
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	case *kmsg.FetchRequest:
		<-time.After(10 * time.Millisecond) // as fetch.max.wait.ms: nothing comes, and the client asks again at once
		return req.ResponseKind()
	}
	answer := make(chan kmsg.Response, 1)
	b.groups.Handle(req, Caller{ClientID: clientID, ClientHost: "/127.0.0.1"}, func(r kmsg.Response) { answer <- r })
	return <-answer
}
