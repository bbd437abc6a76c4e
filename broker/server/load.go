package server

import (
	"context"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// loadSampleEvery is between two samples of the counters. Rates are over at least that, and at most twice that.
const loadSampleEvery = time.Minute

// traffic is a partition's bytes since the process began.
type traffic struct{ in, out int64 }

// loadSample is the traffic of all partitions at one moment.
type loadSample struct {
	at      kafka.Elapsed
	traffic map[kafka.TopicIDPartition]traffic
}

// loads keeps the samples from which rates are made.
type loads struct {
	mu           sync.Mutex
	older, newer loadSample // guarded by mu
}

// add takes a sample; rates are from then on since the one before.
func (l *loads) add(s loadSample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.older, l.newer = l.newer, s
}

// since is the sample from which rates count: none at all counts as zero traffic when the process began.
func (l *loads) since() loadSample {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.older
}

// rate is in bytes per second.
func (s loadSample) rate(id kafka.TopicIDPartition, t traffic, now kafka.Elapsed) (in, out float64) {
	seconds := now.Sub(s.at).Seconds()
	if seconds <= 0 {
		return 0, 0
	}
	was := s.traffic[id] // zero for a partition that came later
	return float64(max(0, t.in-was.in)) / seconds, float64(max(0, t.out-was.out)) / seconds
}

// sampleLoads takes samples until the context ends.
func (s *Server) sampleLoads(ctx context.Context) {
	t := time.NewTicker(loadSampleEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		all := s.partitions.All()
		sample := loadSample{s.clock.Elapsed(), make(map[kafka.TopicIDPartition]traffic, len(all))}
		for _, p := range all {
			d := p.Describe()
			sample.traffic[p.ID()] = traffic{d.WrittenBytes, d.ServedBytes}
		}
		s.loads.add(sample)
	}
}

// load is what this broker carries.
func (s *Server) load() adminapi.Load {
	total, free := s.volume()
	l := adminapi.Load{NodeID: int32(s.node), At: int64(s.clock.Wall()), DiskBytes: total, FreeBytes: free, Partitions: []adminapi.PartitionLoad{}}
	since, now := s.loads.since(), s.clock.Elapsed()
	for _, p := range s.partitions.All() {
		d, tp := p.Describe(), p.TopicPartition()
		pl := adminapi.PartitionLoad{Topic: tp.Topic, Partition: tp.Partition, Leader: d.Role == replica.Leader, SizeBytes: d.SizeBytes}
		pl.InRate, pl.OutRate = since.rate(p.ID(), traffic{d.WrittenBytes, d.ServedBytes}, now)
		l.Partitions = append(l.Partitions, pl)
	}
	return l
}
