package coordinator

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Fact is what one shard is doing, for metrics and for people.
type Fact struct {
	Partition int32
	Epoch     kafka.LeaderEpoch
	State     string // loading, active
	// Progress of the load: [.., LoadNext) of [.., LoadTarget) is applied.
	LoadNext, LoadTarget kafka.Offset
	LoadRecords          int64
	LoadBytes            int64
	LoadTime             time.Duration // so far, or in all once active
	LoadFailures         int           // reads that met damage; the shard stays loading
	Groups               int           // in an active shard
}

// Facts lists the shards by partition.
func (g *Groups) Facts() []Fact {
	var facts []Fact
	for _, s := range g.sorted() {
		s.mu.Lock()
		l, st := s.load, s.status
		s.mu.Unlock()
		if st == gone {
			continue
		}
		f := Fact{
			Partition: s.partition, Epoch: s.epoch, State: st.String(),
			LoadNext: l.next, LoadTarget: l.target, LoadRecords: l.records, LoadBytes: l.bytes,
			LoadTime: time.Duration(l.took), LoadFailures: l.failures,
		}
		if st == active {
			f.Groups = int(s.groupCount.Load())
		}
		facts = append(facts, f)
	}
	return facts
}
