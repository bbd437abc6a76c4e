package partition

import (
	"cmp"
	"errors"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// A log whose folder was deleted, or cannot be read, fails alone: it answers KAFKA_STORAGE_ERROR and fetches nothing, and the other
// logs of the directory go on, and this replica resigns: see resign.go. It stays so until the next start, which is an unclean one
// (see Close): so a replica that begins empty then is in no ISR. For the same reason a log that fails while it is opened makes the
// stop before this start count as unclean.

// fail takes this log out of service. The first failure stays. p.mu may be held or not.
func (p *Partition) fail(doing string, err error) {
	f := &Failure{Doing: doing, Partition: p.name, Err: err}
	if !p.failure.CompareAndSwap(nil, f) {
		return
	}
	p.host.mu.Lock()
	p.host.failed = append(p.host.failed, p)
	p.host.mu.Unlock()
	p.host.tellFailed(f)
}

func (h *host) tellFailed(f *Failure) {
	if h.o.Failed != nil {
		h.o.Failed(f)
	}
}

// offline tells whether nothing is to be asked of the log any more: it failed, or the directory.
func (p *Partition) offline() bool { return p.failure.Load() != nil || p.host.offline() }

// endFailed answers what waits at logs that failed since the last call.
func (m *Manager) endFailed(now kafka.Elapsed) {
	h := m.host
	h.mu.Lock()
	failed := h.failed
	h.failed = nil
	h.mu.Unlock()
	m.failedOpen = append(m.failedOpen, failed...)
	for _, p := range failed {
		p.mu.Lock()
		p.machine.StepFailed()
		p.notifyAll()
		then := p.carryOut(now)
		p.mu.Unlock()
		then.run()
	}
}

// ofLog tells whether an error is the trouble of one log alone.
func (h *host) ofLog(err error) bool {
	return errors.Is(err, seglog.ErrFailed) || h.o.Directory.Confines(err)
}

// noteFailed remembers a log that could not be opened.
func (m *Manager) noteFailed(tp kafka.TopicPartition, doing string, err error) {
	f := &Failure{Doing: doing, Partition: tp, Err: err}
	m.mu.Lock()
	m.failed[tp] = f
	m.mu.Unlock()
	m.host.tellFailed(f)
}

// FailedLogs lists the logs that are out of service while the others work, in order of topic and number.
func (m *Manager) FailedLogs() []*Failure {
	m.mu.RLock()
	var list []*Failure
	for _, f := range m.failed {
		list = append(list, f)
	}
	for _, p := range m.byName {
		if f := p.failure.Load(); f != nil {
			list = append(list, f)
		}
	}
	m.mu.RUnlock()
	slices.SortFunc(list, func(a, b *Failure) int { return compareNames(a.Partition, b.Partition) })
	return list
}

func compareNames(a, b kafka.TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// openFailed takes note of a log that could not be opened or created. It tells whether it failed for good; if not, it is to be
// tried again.
func (m *Manager) openFailed(tp kafka.TopicPartition, doing string, err error) bool {
	switch {
	case heals(err):
		return false
	case errors.Is(err, seglog.ErrOffline):
		m.host.fail(doing, tp, err)
	default:
		m.noteFailed(tp, doing, err)
	}
	return true
}

// dropFailed forgets the logs that are not to be here. Their folders stay as they are: nothing can be said of them.
func (m *Manager) dropFailed(image *metadata.Image) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for tp := range m.failed {
		if t := image.TopicByName(tp.Topic); t == nil || t.Partition(tp.Partition) == nil || !t.Partition(tp.Partition).HasReplica(m.host.o.Self) {
			delete(m.failed, tp)
		}
	}
}

// removeFailed puts the folder of a log aside that could not be opened, if that is why the partition is not open.
func (m *Manager) removeFailed(topic string, id kafka.TopicIDPartition, now kafka.Elapsed) {
	tp := kafka.TopicPartition{Topic: topic, Partition: id.Partition}
	m.mu.Lock()
	f := m.failed[tp]
	delete(m.failed, tp)
	m.mu.Unlock()
	if f != nil {
		m.putAside(tp, id.TopicID, seglog.DirDelete, now)
	}
}
