package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// randomFetch makes a response and its records, and the same thing as kmsg has it at a version.
func randomFetch(rnd *rand.Rand, version int16) (*FetchResponse, map[[2]int][]byte, *kmsg.FetchResponse) {
	ours := &FetchResponse{Throttle: rnd.Int32(), Code: kafka.ErrorCode(rnd.IntN(100)), SessionID: rnd.Int32()}
	theirs := kmsg.NewPtrFetchResponse()
	theirs.Version, theirs.ThrottleMillis = version, ours.Throttle
	if version >= 7 {
		theirs.ErrorCode, theirs.SessionID = int16(ours.Code), ours.SessionID
	}
	records := map[[2]int][]byte{}
	for i := range rnd.IntN(4) {
		topic, their := FetchTopic{Name: fmt.Sprintf("t%0*d", rnd.IntN(200), i)}, kmsg.NewFetchResponseTopic()
		topic.ID[3] = byte(rnd.Int())
		if version >= 13 {
			their.TopicID = topic.ID
		} else {
			their.Topic = topic.Name
		}
		for j := range rnd.IntN(200) {
			p, theirP := randomPartition(rnd, version, int32(j))
			if rnd.IntN(2) == 0 {
				p.RecordBytes = rnd.IntN(300)
				b := make([]byte, p.RecordBytes)
				for k := range b {
					b[k] = byte(rnd.Int())
				}
				if len(b) > 0 {
					records[[2]int{i, j}] = b
				}
				theirP.RecordBatches = b
			}
			topic.Partitions = append(topic.Partitions, p)
			their.Partitions = append(their.Partitions, theirP)
		}
		ours.Topics = append(ours.Topics, topic)
		theirs.Topics = append(theirs.Topics, their)
	}
	for range rnd.IntN(4) {
		e := Endpoint{Node: kafka.NodeID(rnd.IntN(9)), Host: string(bytes.Repeat([]byte("h"), rnd.IntN(200))), Port: rnd.Int32()}
		their := kmsg.NewFetchResponseBroker()
		their.NodeID, their.Host, their.Port = int32(e.Node), e.Host, e.Port
		if rnd.IntN(2) == 0 {
			e.Rack = "rack"
			their.Rack = &e.Rack
		}
		ours.Endpoints = append(ours.Endpoints, e)
		if version >= 16 {
			theirs.Brokers = append(theirs.Brokers, their)
		}
	}
	return ours, records, theirs
}

func randomPartition(rnd *rand.Rand, version int16, number int32) (FetchPartition, kmsg.FetchResponseTopicPartition) {
	p, their := NewFetchPartition(number, kafka.ErrorCode(rnd.IntN(100))), kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark, p.LastStable, p.LogStart = kafka.Offset(rnd.Int64()), kafka.Offset(rnd.Int64()), kafka.Offset(rnd.Int64())
	p.PreferredReplica = kafka.NodeID(rnd.IntN(3) - 1)
	if rnd.IntN(2) == 0 {
		p.Aborted = []AbortedTransaction{}
		their.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		for range rnd.IntN(3) {
			a, theirA := AbortedTransaction{kafka.ProducerID(rnd.Int64()), kafka.Offset(rnd.Int64())}, kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			theirA.ProducerID, theirA.FirstOffset = int64(a.Producer), int64(a.First)
			p.Aborted = append(p.Aborted, a)
			their.AbortedTransactions = append(their.AbortedTransactions, theirA)
		}
	}
	if rnd.IntN(3) == 0 {
		p.DivergingEpoch, p.DivergingEnd = kafka.LeaderEpoch(rnd.IntN(9)), kafka.Offset(rnd.Int64())
	}
	if rnd.IntN(3) == 0 {
		p.Leader, p.LeaderEpoch = kafka.NodeID(rnd.IntN(9)), kafka.LeaderEpoch(rnd.IntN(9))
	}
	their.Partition, their.ErrorCode = p.Partition, int16(p.Code)
	their.HighWatermark, their.LastStableOffset = int64(p.HighWatermark), int64(p.LastStable)
	if version >= 5 {
		their.LogStartOffset = int64(p.LogStart)
	}
	if version >= 11 {
		their.PreferredReadReplica = int32(p.PreferredReplica)
	}
	if version >= 12 {
		their.DivergingEpoch.Epoch, their.DivergingEpoch.EndOffset = int32(p.DivergingEpoch), int64(p.DivergingEnd)
		their.CurrentLeader.LeaderID, their.CurrentLeader.LeaderEpoch = int32(p.Leader), int32(p.LeaderEpoch)
	}
	their.RecordBatches = []byte{}
	return p, their
}

// join puts the records where the splices say.
func join(t testing.TB, f *FetchFrame, records map[[2]int][]byte) []byte {
	var out []byte
	at, used := 0, 0
	for _, s := range f.Splices {
		if s.At < at || s.Len != len(records[[2]int{s.Topic, s.Partition}]) {
			t.Fatalf("splice %+v after byte %d, records %d bytes", s, at, len(records[[2]int{s.Topic, s.Partition}]))
		}
		out = append(append(out, f.Head[at:s.At]...), records[[2]int{s.Topic, s.Partition}]...)
		at, used = s.At, used+1
	}
	if used != len(records) {
		t.Fatalf("%d splices, %d partitions with records", used, len(records))
	}
	return append(out, f.Head[at:]...)
}

// Every version: what we encode with spliced records is byte for byte what kmsg encodes, and decodes to the same.
func TestFetchResponseAgreesWithKmsg(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var frame FetchFrame // used again and again, as a connection does
	for version := int16(4); version <= 18; version++ {
		h := RequestHeader{Key: kmsg.Fetch, Version: version, CorrelationID: 42}
		for range 60 {
			ours, records, theirs := randomFetch(rnd, version)
			AppendFetchResponse(&frame, h, ours)
			got := join(t, &frame, records)
			if want := AppendResponse(nil, h, theirs); !bytes.Equal(got, want) {
				t.Fatalf("version %d: %d bytes, want %d as kmsg encodes", version, len(got), len(want))
			}
			header := 8
			if version >= 12 {
				header++
			}
			if size := binary.BigEndian.Uint32(got); int(size) != len(got)-4 {
				t.Fatalf("version %d: frame says %d bytes, has %d", version, size, len(got)-4)
			}
			decoded := kmsg.NewPtrFetchResponse()
			decoded.Version = version
			if err := decoded.ReadFrom(got[header:]); err != nil {
				t.Fatalf("version %d: %v", version, err)
			}
			if len(theirs.Topics) > 0 && len(theirs.Topics[0].Partitions) > 0 &&
				!reflect.DeepEqual(decoded.Topics[0].Partitions[0], theirs.Topics[0].Partitions[0]) {
				t.Fatalf("version %d: decoded %+v, want %+v", version, decoded.Topics[0].Partitions[0], theirs.Topics[0].Partitions[0])
			}
		}
	}
}

func TestFetchResponseAllocatesNothingPerPartition(t *testing.T) {
	resp := &FetchResponse{Topics: []FetchTopic{{Name: "topic", Partitions: make([]FetchPartition, 10_000)}}}
	for i := range resp.Topics[0].Partitions {
		resp.Topics[0].Partitions[i] = NewFetchPartition(int32(i), kafka.None)
		resp.Topics[0].Partitions[i].RecordBytes = i % 3
	}
	var frame FetchFrame
	h := RequestHeader{Key: kmsg.Fetch, Version: 18}
	AppendFetchResponse(&frame, h, resp)
	if n := testing.AllocsPerRun(10, func() { AppendFetchResponse(&frame, h, resp) }); n != 0 {
		t.Errorf("%v allocations for 10,000 partitions, want 0", n)
	}
}

func BenchmarkFetchResponse(b *testing.B) {
	resp := &FetchResponse{Topics: []FetchTopic{{Name: "topic", Partitions: make([]FetchPartition, 1000)}}}
	for i := range resp.Topics[0].Partitions {
		resp.Topics[0].Partitions[i] = NewFetchPartition(int32(i), kafka.None)
		resp.Topics[0].Partitions[i].RecordBytes = 100
	}
	var frame FetchFrame
	b.ReportAllocs()
	for b.Loop() {
		AppendFetchResponse(&frame, RequestHeader{Key: kmsg.Fetch, Version: 18}, resp)
	}
}
