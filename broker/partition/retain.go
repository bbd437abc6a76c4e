package partition

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// DeletedSegments is what retention removed from one partition, and why: a fact to log, since data that vanishes early
// is what people ask about.
type DeletedSegments struct {
	Partition kafka.TopicPartition
	Segments  []seglog.DeletedSegment
}

// Retain applies retention to every partition, and forgets idle producers. A partition whose log cannot be trimmed is
// passed over until the next call: its error never stops the others.
func (m *Manager) Retain(now kafka.Elapsed, wall kafka.Timestamp) (deleted []DeletedSegments, errs []error) {
	var expiry time.Duration
	if m.host.o.ProducerExpiry != nil {
		expiry = m.host.o.ProducerExpiry()
	}
	for _, p := range m.All() {
		segments, err := p.retain(now, wall, expiry)
		if err != nil {
			errs = append(errs, err)
		}
		if len(segments) > 0 {
			deleted = append(deleted, DeletedSegments{p.name, segments})
		}
	}
	return deleted, errs
}

// retain never removes what is not committed. A replica that has no role yet does not know what is (KAFKA-20732).
func (p *Partition) retain(now kafka.Elapsed, wall kafka.Timestamp, expiry time.Duration) ([]seglog.DeletedSegment, error) {
	p.mu.Lock()
	if p.closed || p.machine.Role() == replica.None || p.owed != nil || p.offline() {
		p.mu.Unlock()
		return nil, nil
	}
	if expiry > 0 {
		p.log.Producers().Expire(wall, expiry)
	}
	segments, err := p.log.Retain(wall, p.machine.HighWatermark())
	if err != nil {
		p.storageError("retain", err)
	}
	p.machine.StepStart(p.log.StartOffset())
	then := p.carryOut(now)
	p.mu.Unlock()
	then.run()
	return segments, err
}
