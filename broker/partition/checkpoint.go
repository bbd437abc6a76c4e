package partition

import (
	"fmt"
	"hash/maphash"
	"maps"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// CheckpointWatermarks writes the high watermarks of all partitions, if one moved since the last time.
func (m *Manager) CheckpointWatermarks() error {
	if !m.host.changedHW.Swap(false) {
		return nil
	}
	all := m.each()
	watermarks := make(map[kafka.TopicPartition]kafka.Offset, len(all))
	for _, p := range all {
		p.mu.Lock()
		watermarks[p.name] = p.machine.HighWatermark()
		p.mu.Unlock()
	}
	for tp, u := range m.waiting() {
		watermarks[tp] = u.watermark
	}
	if err := m.host.o.Directory.WriteCheckpoint(seglog.HighWatermarks, watermarks); err != nil {
		m.host.changedHW.Store(true)
		return fmt.Errorf("write high watermarks: %w", err)
	}
	return nil
}

// waiting are the logs that could not be opened yet: what the checkpoints say of them stays.
func (m *Manager) waiting() map[kafka.TopicPartition]unopened {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.unopened)
}

// recoveryEntry is what CheckpointRecovery writes of one log.
type recoveryEntry struct {
	kafka.TopicPartition
	point, start kafka.Offset
}

// CheckpointRecovery writes recovery points and log starts of all partitions, if one moved since the last time.
func (m *Manager) CheckpointRecovery() error {
	all := m.each()
	points := make(map[kafka.TopicPartition]kafka.Offset, len(all))
	starts := map[kafka.TopicPartition]kafka.Offset{}
	sum := uint64(1) // in no order; 0 is what was never written
	note := func(tp kafka.TopicPartition, point, start kafka.Offset) {
		points[tp] = point
		if start > 0 {
			starts[tp] = start
		}
		sum += maphash.Comparable(m.recoverySeed, recoveryEntry{tp, point, start})
	}
	for _, p := range all {
		p.mu.Lock()
		point, start := p.log.RecoveryPoint(), p.log.StartOffset()
		p.mu.Unlock()
		note(p.name, point, start)
	}
	for tp, u := range m.waiting() {
		note(tp, u.options.RecoveryPoint, u.options.LogStart)
	}
	if sum == m.recoverySum {
		return nil
	}
	if err := m.host.o.Directory.WriteCheckpoint(seglog.RecoveryPoints, points); err != nil {
		return fmt.Errorf("write recovery points: %w", err)
	}
	if err := m.host.o.Directory.WriteCheckpoint(seglog.LogStarts, starts); err != nil {
		return fmt.Errorf("write log starts: %w", err)
	}
	m.recoverySum = sum
	return nil
}

// Close stops cleanly: every log is flushed and closed, then the checkpoints are written, then the mark of the clean
// stop with the broker epoch. After an error the mark is missing and the next start looks at the logs again.
func (m *Manager) Close(epoch kafka.BrokerEpoch, now kafka.Elapsed) error {
	m.host.changedHW.Store(true)
	all := m.All()
	errs := make([]error, len(all))
	m.host.o.EachSync(len(all), func(i int) { errs[i] = all[i].close(now) })
	for i, err := range errs {
		switch {
		case err == nil:
		case m.host.ofLog(err): // told below: the others' checkpoints are written all the same
			all[i].fail("close", err)
		default:
			return fmt.Errorf("close log %s: %w", all[i].name, err)
		}
	}
	if err := m.CheckpointWatermarks(); err != nil {
		return err
	}
	if err := m.CheckpointRecovery(); err != nil {
		return err
	}
	if err := m.Failure(); err != nil {
		return err
	}
	if failed := m.FailedLogs(); len(failed) > 0 { // the next start must not count on what they hold
		return fmt.Errorf("%d logs failed, the first: %w", len(failed), failed[0])
	}
	if n := len(m.unopened); n > 0 { // nobody else is left who changes it
		return fmt.Errorf("%d logs were never opened, for lack of space or file handles", n)
	}
	if err := m.host.o.Directory.MarkCleanShutdown(epoch); err != nil {
		return fmt.Errorf("mark the clean stop: %w", err)
	}
	return nil
}
