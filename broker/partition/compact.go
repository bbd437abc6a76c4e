package partition

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// Compacted is what compaction did to one partition, or why it could not.
type Compacted struct {
	Partition kafka.TopicPartition
	Report    seglog.CompactReport
	Err       error
}

// compactRetry is when a partition whose compaction failed is looked at again.
type compactRetry struct {
	failures int
	after    kafka.Elapsed
}

const (
	compactBackoff    = 15 * time.Second
	maxCompactBackoff = 10 * time.Minute
)

// candidate is a partition worth a pass.
type candidate struct {
	p       *Partition
	overdue bool // max.compaction.lag.ms is over
	ratio   float64
}

// Compact compacts the partitions that are dirty enough, the overdue ones first, then the dirtiest, one after the other.
// A failure stays with its partition, which is tried again later with a growing pause: compaction never ends for good
// (KAFKA-3587, KAFKA-19895). stop is asked between steps.
func (m *Manager) Compact(stop func() error, now kafka.Elapsed, wall kafka.Timestamp) (done []Compacted) {
	var todo []candidate
	for _, p := range m.All() {
		if !p.settings.Load().Compact || now < m.compactAfter[p].after || stop() != nil {
			continue
		}
		c, err := p.compactable(now, wall)
		if err != nil {
			done = append(done, m.compactFailed(p, now, seglog.CompactReport{}, err))
		} else if c.p != nil {
			todo = append(todo, c)
		}
	}
	slices.SortStableFunc(todo, func(a, b candidate) int {
		if a.overdue != b.overdue {
			if a.overdue {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.ratio, a.ratio)
	})
	for _, c := range todo {
		if stop() != nil {
			break
		}
		report, err := c.p.compact(stop, wall, m.host.o.Compaction)
		if err != nil {
			done = append(done, m.compactFailed(c.p, now, report, err))
			continue
		}
		delete(m.compactAfter, c.p)
		done = append(done, Compacted{Partition: c.p.name, Report: report})
	}
	m.dropCompactRetries()
	return done
}

func (m *Manager) compactFailed(p *Partition, now kafka.Elapsed, report seglog.CompactReport, err error) Compacted {
	if !errors.Is(err, seglog.ErrClosed) {
		p.storageError("compact", err)
	}
	n := m.compactAfter[p].failures
	m.compactAfter[p] = compactRetry{n + 1, now.Add(min(compactBackoff<<min(n, 10), maxCompactBackoff))}
	return Compacted{p.name, report, err}
}

// dropCompactRetries forgets partitions that are gone.
func (m *Manager) dropCompactRetries() {
	for p := range m.compactAfter {
		if here, _ := m.GetByID(p.id); here != p {
			delete(m.compactAfter, p)
		}
	}
}

// compactable tells whether a partition is worth a pass. Only what is flushed can be compacted, so it flushes first what
// complete segments hold.
func (p *Partition) compactable(now kafka.Elapsed, wall kafka.Timestamp) (candidate, error) {
	if p.idle() {
		return candidate{}, nil
	}
	if segments := p.log.Segments(); p.log.RecoveryPoint() < segments[len(segments)-1].Base {
		p.flush(now)
	}
	settings := p.settings.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return candidate{}, nil
	}
	d, err := p.log.Dirty(wall, p.lastStable())
	if err != nil || d.DirtyBytes == 0 {
		return candidate{}, err
	}
	overdue := d.Oldest >= 0 && int64(wall-d.Oldest) > settings.MaxCompactionLagMs
	if !overdue && d.Ratio() < settings.MinCleanableDirtyRatio {
		return candidate{}, nil
	}
	return candidate{p, overdue, d.Ratio()}, nil
}

// idle tells whether the partition has no role in which it knows what is committed.
func (p *Partition) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed || p.machine.Role() == replica.None || p.owed != nil || p.offline()
}

// compact does one pass over what is committed and decided. Reading and writing go without the mutex.
func (p *Partition) compact(stop func() error, wall kafka.Timestamp, bounds seglog.CompactBounds) (seglog.CompactReport, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return seglog.CompactReport{}, nil
	}
	c, err := p.log.StartCompaction(wall, p.lastStable(), bounds)
	p.mu.Unlock()
	if c == nil || err != nil {
		return seglog.CompactReport{}, err
	}
	for stop() == nil {
		var more bool
		if more, err = c.Clean(); err != nil || !more {
			break
		}
		p.mu.Lock()
		err = c.Commit()
		p.mu.Unlock()
		if err != nil {
			break
		}
	}
	return c.Report, errors.Join(err, c.Close())
}
