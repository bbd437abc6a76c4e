package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func benchGroups() *Groups {
	topics := &fakeTopics{ids: map[string]kafka.TopicID{"t": {15: 1}}, partitions: 1}
	return NewGroups(Options{Clock: bubbleClock{time.Now()}, Topics: topics, Log: logr.Discard(), Config: DefaultConfig(),
		NewID: func() kafka.UUID { return kafka.UUID{} }})
}

// nullLog commits at once and keeps nothing.
type nullLog struct{ end kafka.Offset }

func (l *nullLog) Append(_ kafka.LeaderEpoch, b record.Batch, done func(AppendResult)) {
	base := l.end
	l.end += b.NextOffset()
	done(AppendResult{BaseOffset: base})
}
func (l *nullLog) Read(kafka.Offset, []byte) ([]byte, error) { return nil, nil }
func (l *nullLog) Bounds() Bounds                            { return Bounds{} }

// BenchmarkCommit is an OffsetCommit of ten partitions, from the request to the answer, without the log.
func BenchmarkCommit(b *testing.B) {
	g := benchGroups()
	g.Elected(0, 0, &nullLog{})
	offsets := make([]int64, 10)
	reply := func(r kmsg.Response) {
		if c := r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; c != 0 {
			b.Fatal(c)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		g.Handle(commitRequest(9, "g", "t", offsets...), Caller{}, reply)
	}
}

// BenchmarkLoad is the load of 100,000 committed offsets in batches of 100.
func BenchmarkLoad(b *testing.B) {
	log := &memLog{}
	m := benchGroups()
	m.Elected(0, 0, log)
	offsets := make([]int64, 100)
	for i := range 1000 {
		m.Handle(commitRequest(9, fmt.Sprintf("group-%d", i), "t", offsets...), Caller{}, func(kmsg.Response) {})
	}
	var data []byte
	for _, rb := range log.batches {
		data = append(data, rb...)
	}
	flat := &flatLog{data: data, end: log.end}
	var buf []byte
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		g := benchGroups()
		g.Elected(0, 0, flat)
		for g.LoadStep(&buf) {
		}
		if f := g.Facts()[0]; f.State != "active" || f.LoadRecords != 100_000 {
			b.Fatalf("%+v", f)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/offset")
}

// flatLog gives all it has in one read.
type flatLog struct {
	nullLog
	data []byte
	end  kafka.Offset
}

func (l *flatLog) Read(kafka.Offset, []byte) ([]byte, error) { return l.data, nil }
func (l *flatLog) Bounds() Bounds                            { return Bounds{HighWatermark: l.end, End: l.end} }
