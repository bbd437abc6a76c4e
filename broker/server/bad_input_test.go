package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// victim is a broker that gets bad input, with a neighbour: a client that has been there all along.
type victim struct {
	*machine
	neighbour *rawClient
	want      []string // what is stored
}

func newVictim(t *testing.T, more config.Values) *victim {
	m := cluster(t, 1, more)[0]
	m.create("t", 1)
	return &victim{machine: m, neighbour: m.dial()}
}

// unharmed checks that the broker serves its neighbour and newcomers, and that what was stored is what was acknowledged.
func (v *victim) unharmed(t *testing.T) {
	t.Helper()
	for _, c := range []*rawClient{v.neighbour, v.dial()} {
		c.t = t
		value := fmt.Sprint("good ", len(v.want))
		if code, offset := c.produce("t", -1, plain(t, value)); code != kafka.None || offset != int64(len(v.want)) {
			t.Fatalf("%v at %d, want offset %d", code, offset, len(v.want))
		}
		v.want = append(v.want, value)
		if got := c.stored("t"); !slices.Equal(got, v.want) {
			t.Fatalf("stored %q, want %q", got, v.want)
		}
	}
	v.neighbour.t = v.t
}

// TestFramesThatAreNone end their connection, after what came before them was answered, and harm nobody else.
func TestFramesThatAreNone(t *testing.T) {
	v := newVictim(t, nil)
	good := func(c *rawClient) []byte { return c.frame(fetchRequest("t", 0, 100)) }
	header := func(key, version int16, rest ...byte) []byte {
		b := kbin.AppendInt16(kbin.AppendInt16(nil, key), version)
		return frameBytes(append(kbin.AppendInt32(b, 77), rest...))
	}
	produce := produceRequest("t", 1, plain(t, "never stored"))
	whole := wire.AppendRequest(nil, "raw", 1, produce)
	for _, c := range []struct {
		name  string
		bytes []byte
	}{
		{"size 0", frameBytes(nil)},
		{"size -1", binary.BigEndian.AppendUint32(nil, 1<<32-1)},
		{"the least size", binary.BigEndian.AppendUint32(nil, 1<<31)},
		{"a size of 2 GiB", binary.BigEndian.AppendUint32(nil, 1<<31-1)},
		{"one byte more than the limit", binary.BigEndian.AppendUint32(nil, 100<<20+1)},
		{"half a header", frameBytes([]byte{0, 3, 0})},
		{"a key that nobody knows", header(9999, 0)},
		{"a negative key", header(-1, 0)},
		{"a key between brokers", header(kmsg.BrokerHeartbeat.Int16(), 0)},
		{"the key of the quorum's messages", header(wire.KeyRaft.Int16(), 0)},
		{"a version above the served", header(kmsg.Metadata.Int16(), 99, 0, 0)},
		{"a negative version", header(kmsg.Metadata.Int16(), -1, 0, 0)},
		{"a version of Produce that is advertised and not served", header(kmsg.Produce.Int16(), 2, 0, 0)},
		{"a client id beyond the frame", header(kmsg.Metadata.Int16(), 1, 0x7f, 0xff)},
		{"a negative length of the client id", header(kmsg.Metadata.Int16(), 1, 0x80, 0)},
		{"more tags than bytes", header(kmsg.Metadata.Int16(), 12, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f)},
		{"no body", header(kmsg.Fetch.Int16(), 12, 0, 0, 0)},
		{"an array longer than the frame", header(kmsg.Metadata.Int16(), 1, 0, 0, 0x7f, 0xff, 0xff, 0xff)},
		{"a compact array longer than the frame", header(kmsg.Metadata.Int16(), 12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x07)},
		{"a string longer than the frame", header(kmsg.Metadata.Int16(), 1, 0, 0, 0, 0, 0, 1, 0x7f, 0xff)},
		{"records longer than the frame", header(kmsg.Produce.Int16(), 3, append([]byte{0, 0, 0xff, 0xff, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0}, 0x7f, 0xff, 0xff, 0xff)...)},
		{"a request that is cut", frameBytes(whole[4 : len(whole)-3])},
		{"a body of zeros", header(kmsg.JoinGroup.Int16(), 9, make([]byte, 50)...)[:30]},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: broker\r\n\r\n")},
		{"TLS", append([]byte{22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 600)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := v.dial()
			bad.t = t
			before := good(bad)
			_, _ = bad.Write(slices.Concat(before, before, c.bytes, before)) // the end may come in the middle
			_ = bad.CloseWrite()
			for range 2 {
				if b, err := bad.receive(); err != nil || len(b) < 10 {
					t.Fatalf("what came before got no answer: %v", err)
				}
			}
			bad.closed(c.name)
			v.unharmed(t)
		})
	}
}

// TestUnknownVersionsOfApiVersionsAreAnswered in version 0, and the connection goes on (KIP-511).
func TestUnknownVersionsOfApiVersionsAreAnswered(t *testing.T) {
	v := newVictim(t, nil)
	c := v.dial()
	c.send(frameBytes([]byte{0, 18, 0, 99, 0, 0, 0, 5, 0xff, 0xff, 1, 2, 3}))
	b, err := c.receive()
	resp := kmsg.NewPtrApiVersionsResponse()
	if err != nil || len(b) < 4 || resp.ReadFrom(b[4:]) != nil || resp.ErrorCode != int16(kafka.UnsupportedVersion) || len(resp.ApiKeys) != 1 {
		t.Fatalf("%v %x", err, b)
	}
	c.stored("t")
	v.unharmed(t)
}

// TestRequestsThatAreRefused get the protocol's error; their connection goes on, and nothing is stored or created.
func TestRequestsThatAreRefused(t *testing.T) {
	v := newVictim(t, nil)
	c := v.dial()
	topics := v.images.Current().NumTopics()
	damage := func(at int) []byte {
		b := plain(t, "never stored")
		b[at] ^= 0x40
		return b
	}
	field := func(at int, value uint32) []byte {
		b := plain(t, "never stored")
		binary.BigEndian.PutUint32(b[at:], value)
		return b
	}
	compressed := built(t, record.BuilderOptions{Codec: record.Gzip}, strings.Repeat("never stored ", 100))
	compressed[len(compressed)-20] ^= 1
	for what, b := range map[string][]byte{
		"a wrong CRC": damage(17), "a record's byte": damage(70), "magic 1": damage(16), "a length beyond the bytes": field(8, 1<<30), "a negative length": field(8, 1<<31),
		"a length of 0": field(8, 0), "a count beyond the records": field(57, 1<<30), "a negative count": field(57, 1<<32-1), "a last offset that does not fit": field(23, 5),
		"damage in compressed records": compressed, "no batch": nil, "an empty one": {}, "random bytes": bytes.Repeat([]byte("junk"), 40),
		"two": append(plain(t, "x"), plain(t, "y")...),
	} {
		for _, acks := range []int16{1, -1} {
			if code, offset := c.produce("t", acks, b); code == kafka.None || offset != -1 {
				t.Errorf("%s, acks %d: %v at %d", what, acks, code, offset)
			}
		}
	}
	v.unharmed(t)
	// As in Kafka, what is no batch after a good one is not looked at; it is not stored either.
	if code, _ := c.produce("t", -1, append(plain(t, "with a tail"), 1, 2, 3)); code != kafka.None {
		t.Errorf("bytes after a batch: %v", code)
	}
	v.want = append(v.want, "with a tail")
	v.unharmed(t)

	fetch := fetchRequest("t", 0, 1<<20)
	fetch.Topics[0].Partitions = append(fetch.Topics[0].Partitions, fetch.Topics[0].Partitions...)
	if resp := c.ask(fetch).(*kmsg.FetchResponse); len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.Errorf("a partition fetched twice: %+v", resp)
	}
	for _, p := range []int32{-1, 1, 1 << 30} {
		fetch := fetchRequest("t", 0, 1<<20)
		fetch.Topics[0].Partitions[0].Partition = p
		if code := c.ask(fetch).(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode; code != int16(kafka.UnknownTopicOrPartition) {
			t.Errorf("partition %d: %v", p, kafka.ErrorCode(code))
		}
	}

	create := func(name string, partitions int32, replicas int16, change func(*kmsg.CreateTopicsRequestTopic)) kafka.ErrorCode {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, replicas
		if change != nil {
			change(&topic)
		}
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis, req.Topics = 7, 10_000, []kmsg.CreateTopicsRequestTopic{topic}
		resp := c.ask(req).(*kmsg.CreateTopicsResponse)
		if m := resp.Topics[0].ErrorMessage; m == nil || strings.Contains(*m, "\n") {
			t.Errorf("%q: a message of one line is missing: %v", name, m)
		}
		return kafka.ErrorCode(resp.Topics[0].ErrorCode)
	}
	long := strings.Repeat("n", kafka.MaxTopicNameLength+1)
	for _, x := range []struct {
		what string
		got  kafka.ErrorCode
		want kafka.ErrorCode
	}{
		{"an empty name", create("", 1, 1, nil), kafka.InvalidTopicException},
		{"a folder", create("..", 1, 1, nil), kafka.InvalidTopicException},
		{"a path", create("../../etc/passwd", 1, 1, nil), kafka.InvalidTopicException},
		{"a name with NUL", create("a\x00b", 1, 1, nil), kafka.InvalidTopicException},
		{"a long name", create(long, 1, 1, nil), kafka.InvalidTopicException},
		{"a name that is there", create("t", 1, 1, nil), kafka.TopicAlreadyExists},
		{"more replicas than brokers", create("x", 1, 2, nil), kafka.InvalidReplicationFactor},
		{"no replicas", create("x", 1, 0, nil), kafka.InvalidReplicationFactor},
		{"32767 replicas", create("x", 1, 32767, nil), kafka.InvalidReplicationFactor},
		{"no partitions", create("x", 0, 1, nil), kafka.InvalidPartitions},
		{"more partitions than one request may create", create("x", 10_001, 1, nil), kafka.PolicyViolation},
		{"2147483647 partitions", create("x", 1<<31-1, 1, nil), kafka.PolicyViolation},
		{"-2 partitions", create("x", -2, 1, nil), kafka.InvalidPartitions},
		{"a setting that nobody knows", create("x", 1, 1, func(t *kmsg.CreateTopicsRequestTopic) {
			t.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "no.such", Value: kmsg.StringPtr("1")}}
		}), kafka.InvalidConfig},
		{"a value that is none", create("x", 1, 1, func(t *kmsg.CreateTopicsRequestTopic) {
			t.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: kmsg.StringPtr("soon")}}
		}), kafka.InvalidConfig},
		{"replicas on brokers that are not there", create("x", -1, -1, func(t *kmsg.CreateTopicsRequestTopic) {
			t.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{9}}}
		}), kafka.InvalidReplicaAssignment},
		{"a broker twice", create("x", -1, -1, func(t *kmsg.CreateTopicsRequestTopic) {
			t.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{0, 0}}}
		}), kafka.InvalidReplicaAssignment},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v, want %v", x.what, x.got, x.want)
		}
	}
	twice := kmsg.NewPtrCreateTopicsRequest()
	twice.Version, twice.TimeoutMillis = 7, 10_000
	for range 2 {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "twice", 1, 1
		twice.Topics = append(twice.Topics, topic)
	}
	for _, r := range c.ask(twice).(*kmsg.CreateTopicsResponse).Topics {
		if r.ErrorCode != int16(kafka.InvalidRequest) {
			t.Errorf("a topic created twice: %v", kafka.ErrorCode(r.ErrorCode))
		}
	}
	if n := v.images.Current().NumTopics(); n != topics {
		t.Errorf("%d topics, want %d", n, topics)
	}
	v.unharmed(t)
}

// TestARefusedProduceWithoutAcksEndsItsConnection, which is how a client learns of it.
func TestARefusedProduceWithoutAcksEndsItsConnection(t *testing.T) {
	v := newVictim(t, nil)
	c := v.dial()
	c.send(c.frame(produceRequest("t", 0, []byte("junk"))))
	c.closed("acks=0")
	v.unharmed(t)
}

// TestRandomBytesInRequests: frames of every API whose bodies are random, each on a connection that may end.
func TestRandomBytesInRequests(t *testing.T) {
	v := newVictim(t, nil)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := newRandom(seed)
	for range 300 {
		c := v.dial()
		key := v.clients.APIs().Advertised()[rnd.IntN(len(v.clients.APIs().Advertised()))]
		if kmsg.Key(key.ApiKey) == kmsg.DeleteTopics {
			continue
		}
		b := kbin.AppendInt32(kbin.AppendInt16(kbin.AppendInt16(nil, key.ApiKey), key.MinVersion+int16(rnd.IntN(int(key.MaxVersion-key.MinVersion+1)))), 1)
		b = append(b, 0, 0, 0)
		for range rnd.IntN(200) {
			b = append(b, byte(rnd.Uint32())>>rnd.IntN(8))
		}
		_, _ = c.Write(frameBytes(b))
		_ = c.Close()
	}
	v.unharmed(t)
}

// TestEveryLimitOfConnectionsHolds: max.connections.per.ip refuses at once; when it has room again, it accepts.
func TestEveryLimitOfConnectionsHolds(t *testing.T) {
	v := newVictim(t, config.Values{"max.connections.per.ip": "5"})
	var open []*rawClient
	for len(open) < 4 { // the neighbour is the fifth
		c := v.dial()
		c.stored("t")
		open = append(open, c)
	}
	v.dial().closed("one too many")
	_ = open[0].Close()
	eventually(t, "there is room again", func() bool {
		c, err := net.Dial("tcp", v.address())
		if err != nil {
			return false
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = c.Write(wire.AppendRequest(nil, "raw", 1, fetchRequest("t", 0, 1)))
		var b [4]byte
		_, err = io.ReadFull(c, b[:])
		return err == nil
	})
}

// manyConnections is how many clients TestAThousandConnections has.
const manyConnections = 1000

// TestAThousandConnections, most of them silent or in the middle of a request, keep nobody from being served, and cost nothing when gone.
func TestAThousandConnections(t *testing.T) {
	v := newVictim(t, nil)
	var open []net.Conn
	half := wire.AppendRequest(nil, "raw", 1, fetchRequest("t", 0, 1))
	for i := range manyConnections {
		c, err := net.Dial("tcp", v.address())
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer c.Close()
		if i%3 > 0 {
			if _, err := c.Write(half[:len(half)-i%3]); err != nil {
				t.Fatal(err)
			}
		}
		open = append(open, c)
	}
	v.unharmed(t)
	for _, c := range open {
		_ = c.Close()
	}
	eventually(t, "the connections are gone", func() bool { return v.clientServer.Stats().Open <= 4 })
	eventually(t, "no bytes of requests are held", func() bool { return v.clientServer.Stats().InflightBytes == 0 })
}

// TestSlowAndVanishingReaders: clients that ask for much and read little, or close in the middle, hold back nobody, and the files that
// their answers had are given back.
func TestSlowAndVanishingReaders(t *testing.T) {
	v := newVictim(t, nil)
	v.create("big", 1)
	value := strings.Repeat("x", 512<<10)
	for range 16 {
		if code, _ := v.neighbour.produce("big", 1, plain(t, value)); code != kafka.None {
			t.Fatal(code)
		}
	}
	var slow []*rawClient
	for range 20 {
		c := v.dial()
		for range 20 {
			c.send(c.frame(fetchRequest("big", 0, 8<<20)))
		}
		slow = append(slow, c)
	}
	v.unharmed(t)
	for i, c := range slow {
		if i%2 == 0 {
			_, _ = io.CopyN(io.Discard, c, 1<<20) // in the middle of the first answer
			_ = c.SetLinger(0)
		}
		_ = c.Close()
	}
	eventually(t, "the connections are gone", func() bool { return v.clientServer.Stats().Open <= 4 })
	v.unharmed(t)
	if got := v.dial().stored("big"); len(got) != 16 || got[15] != value {
		t.Errorf("%d records of the big topic", len(got))
	}
}

// TestLargeRequestsWaitForMemory: more requests than queued.max.request.bytes allows are read one after the other, none is lost.
func TestLargeRequestsWaitForMemory(t *testing.T) {
	v := newVictim(t, config.Values{"queued.max.request.bytes": "1000000", "message.max.bytes": "800000"})
	v.create("big", 1)
	value := strings.Repeat("x", 600<<10)
	const clients = 10
	var all []*rawClient
	var frames [][]byte
	for range clients {
		c := v.dial()
		frame := c.frame(produceRequest("big", -1, plain(t, value)))
		c.send(frame[:len(frame)/2]) // there is room for one
		all, frames = append(all, c), append(frames, frame)
	}
	eventually(t, "all but one wait", func() bool { return v.clientServer.Stats().WaitedForInflight >= clients-1 })
	if n := v.clientServer.Stats().InflightBytes; n > 1_000_000 {
		t.Errorf("%d bytes of requests are held", n)
	}
	var writers sync.WaitGroup
	for i, c := range all {
		writers.Go(func() { c.send(frames[i][len(frames[i])/2:]) })
	}
	for _, c := range all {
		p := c.answer(produceRequest("big", -1, nil), 1).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			t.Error(kafka.ErrorCode(p.ErrorCode))
		}
	}
	writers.Wait()
	eventually(t, "no bytes of requests are held", func() bool { return v.clientServer.Stats().InflightBytes == 0 })
	v.unharmed(t)
}

// TestRequestsBeyondTheirLimitAreNotRead: socket.request.max.bytes, as set.
func TestRequestsBeyondTheirLimitAreNotRead(t *testing.T) {
	v := newVictim(t, config.Values{"socket.request.max.bytes": "10000"})
	c := v.dial()
	c.send(binary.BigEndian.AppendUint32(nil, 10001))
	c.closed("beyond the limit")
	v.unharmed(t)
	if n := v.clientServer.Stats().ClosedOversize; n != 1 {
		t.Errorf("%d connections closed for it", n)
	}
}
