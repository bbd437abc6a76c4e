package server

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// rawClient speaks the protocol by hand, and badly when it shall.
type rawClient struct {
	*net.TCPConn
	t           *testing.T
	correlation int32
}

func (m *machine) dial() *rawClient {
	m.t.Helper()
	c, err := net.Dial("tcp", m.address())
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second)) // a test that hangs says where
	return &rawClient{TCPConn: c.(*net.TCPConn), t: m.t}
}

func (c *rawClient) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// frame is the next request of this connection.
func (c *rawClient) frame(req kmsg.Request) []byte {
	c.correlation++
	return wire.AppendRequest(nil, "raw", c.correlation, req)
}

// frameBytes is a frame of any bytes.
func frameBytes(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// receive reads one frame without its size.
func (c *rawClient) receive() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}

// answer reads the response to the request that was sent as number correlation.
func (c *rawClient) answer(req kmsg.Request, correlation int32) kmsg.Response {
	c.t.Helper()
	b, err := c.receive()
	if err != nil {
		c.t.Fatalf("%s: %v", kmsg.Key(req.Key()).Name(), err)
	}
	body, err := wire.ResponseBody(wire.RequestHeader{Key: kmsg.Key(req.Key()), Version: req.GetVersion(), CorrelationID: correlation}, b)
	if err != nil {
		c.t.Fatal(err)
	}
	resp := req.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// ask sends a request, whose version is set, and waits.
func (c *rawClient) ask(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	c.send(c.frame(req))
	return c.answer(req, c.correlation)
}

// closed tells that the broker ended the connection without another word.
func (c *rawClient) closed(what string) {
	c.t.Helper()
	var b [1]byte
	n, err := c.Read(b[:])
	var timeout net.Error
	if n != 0 || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Errorf("%s: the connection goes on: %d bytes, %v", what, n, err)
	}
}

// produceRequest puts one batch into partition 0 of a topic.
func produceRequest(topic string, acks int16, records []byte) *kmsg.ProduceRequest {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis, req.Topics = 9, acks, 10_000, []kmsg.ProduceRequestTopic{t}
	return req
}

func (c *rawClient) produce(topic string, acks int16, records []byte) (kafka.ErrorCode, int64) {
	c.t.Helper()
	p := c.ask(produceRequest(topic, acks, records)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return kafka.ErrorCode(p.ErrorCode), p.BaseOffset
}

func (c *rawClient) initProducerID() kafka.ProducerID {
	c.t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = 4
	resp := c.ask(req).(*kmsg.InitProducerIDResponse)
	if resp.ErrorCode != 0 {
		c.t.Fatal(kafka.ErrorCode(resp.ErrorCode))
	}
	return kafka.ProducerID(resp.ProducerID)
}

// fetchRequest reads partition 0 of a topic without waiting.
func fetchRequest(topic string, from int64, bytes int32) *kmsg.FetchRequest {
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = from, bytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.SessionEpoch, req.Topics = 12, bytes, -1, []kmsg.FetchRequestTopic{t}
	return req
}

// stored reads the values of partition 0 of a topic, each batch checked.
func (c *rawClient) stored(topic string) (values []string) {
	c.t.Helper()
	var b record.Batch
	rest := c.ask(fetchRequest(topic, 0, 100<<20)).(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
	for len(rest) > 0 {
		var err error
		if b, rest, err = record.Next(rest); err != nil || !b.CheckCRC() {
			c.t.Fatalf("what is stored is damaged: %v", err)
		}
		it := b.Records(1 << 20)
		for it.Next() {
			values = append(values, string(it.Record().Value))
		}
		if err := it.Err(); err != nil {
			c.t.Fatal(err)
		}
		it.Close()
	}
	return values
}

// plain is a batch of a plain producer.
func plain(t *testing.T, values ...string) []byte {
	return built(t, record.BuilderOptions{}, values...)
}

func idempotent(t *testing.T, id kafka.ProducerID, sequence int32, values ...string) []byte {
	return built(t, record.BuilderOptions{Idempotent: true, ProducerID: id, BaseSequence: sequence}, values...)
}

func built(t *testing.T, o record.BuilderOptions, values ...string) []byte {
	t.Helper()
	b := record.NewBuilder(o)
	for _, v := range values {
		b.Add(kafka.TimestampOf(time.Now()), nil, []byte(v))
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone([]byte(batch))
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
