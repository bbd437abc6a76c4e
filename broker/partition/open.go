package partition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// Open opens every log in the directory, by Options.Each, before anything is known of the cluster. Folders that were
// renamed for deletion are left to Purge. The mark of the clean stop is gone when it returns: from now on it is not
// clean any more. A log that cannot be opened for lack of space or handles is left for RetryMissing; one that cannot be
// opened for another reason that is its own fails alone, see failed.go.
func (m *Manager) Open(wall kafka.Timestamp) error {
	d := m.host.o.Directory
	m.advance(func(p *Progress) { p.Opening = true })
	defer m.advance(func(p *Progress) { p.Opening = false })
	looked := func() { m.advance(func(p *Progress) { p.Looked++ }) }
	folders, err := d.Partitions(looked)
	if err != nil {
		return fmt.Errorf("list partitions: %w", err)
	}
	points, err := d.ReadCheckpoint(seglog.RecoveryPoints)
	if err != nil {
		points = nil // all of the log is scanned then
	}
	watermarks, err := d.ReadCheckpoint(seglog.HighWatermarks)
	if err != nil {
		watermarks = nil // they start at the log start then
	}
	starts, err := d.ReadCheckpoint(seglog.LogStarts)
	if err != nil {
		starts = nil
	}
	_, clean := d.CleanShutdown()
	if err := d.ForgetCleanShutdown(); err != nil {
		return fmt.Errorf("forget the clean stop: %w", err)
	}
	lost := clean && m.lost(points, folders)
	live := folders[:0]
	for _, f := range folders {
		switch f.Kind {
		case seglog.DirCurrent:
			unfinished, err := m.clearUnfinished(f)
			looked()
			switch {
			case err == nil && !unfinished:
				live = append(live, f)
			case err == nil:
			case m.host.ofLog(err):
				m.noteFailed(f.TopicPartition, "look at", err)
			default:
				return fmt.Errorf("look at %s: %w", f.Name, err)
			}
		case seglog.DirDelete:
			m.doomed = append(m.doomed, doomedDir{name: f.Name})
		}
	}
	m.advance(func(p *Progress) { p.Total = len(live) })
	read := func(bytes int) { m.read.Add(int64(bytes)) }
	var mu sync.Mutex
	var offline []error // the directory's trouble
	m.host.o.Each(len(live), func(i int) {
		f := live[i]
		u := unopened{watermarks[f.TopicPartition], seglog.Options{
			LogStart: starts[f.TopicPartition], RecoveryPoint: points[f.TopicPartition], Clean: clean, Now: wall, Progress: read,
		}}
		p, report, err := m.openLog(f.TopicPartition, f.TopicID, u.watermark, u.options)
		switch {
		case err == nil:
		case heals(err):
			u.options.Progress = nil
			m.mu.Lock()
			m.unopened[f.TopicPartition] = u
			m.mu.Unlock()
			return
		case errors.Is(err, seglog.ErrOffline):
			mu.Lock()
			offline = append(offline, err)
			mu.Unlock()
			return
		default:
			m.noteFailed(f.TopicPartition, "open", err)
			return
		}
		m.add(p)
		m.advance(func(p *Progress) {
			p.Opened++
			p.ScannedBytes += report.ScannedBytes
		})
	})
	if lost || len(m.FailedLogs()) > 0 {
		// What was stopped cleanly is not what is here now: the cluster must not count on it.
		d.DisownCleanShutdown()
	}
	m.host.checkSpace(0)
	return errors.Join(offline...)
}

// clearUnfinished tells whether a folder is what a crash left of a log that was being made, and removes it then: the log is made
// again if it is to be here.
func (m *Manager) clearUnfinished(f seglog.PartitionDir) (unfinished bool, err error) {
	if f.Err != nil {
		return false, f.Err
	}
	unfinished, err = m.host.o.Directory.Unfinished(f)
	if unfinished && err == nil {
		err = m.host.o.Directory.RemovePartition(f.Name)
	}
	return unfinished, err
}

var errNoFolder = errors.New("the folder of a log with records is gone")

// lost tells, and reports, whether logs that had records when the directory was stopped cleanly have no folder any more.
func (m *Manager) lost(points map[kafka.TopicPartition]kafka.Offset, folders []seglog.PartitionDir) bool {
	here := map[kafka.TopicPartition]bool{}
	for _, f := range folders {
		here[f.TopicPartition] = here[f.TopicPartition] || f.Kind == seglog.DirCurrent
	}
	lost := false
	for _, p := range slices.SortedFunc(maps.Keys(points), compareNames) {
		if points[p] > 0 && !here[p] {
			lost = true
			m.host.tellDamage("find", p, errNoFolder)
		}
	}
	return lost
}

// advance changes the progress.
func (m *Manager) advance(change func(*Progress)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.progress)
}

// unopened is what is needed to open a log when there is space. The broker starts without it: it would stop for good
// else, and nobody could make room by it.
type unopened struct {
	watermark kafka.Offset
	options   seglog.Options
}

// optionsFor are those of a log that shall be here and is not open: a new one, or one that could not be opened.
func (m *Manager) optionsFor(tp kafka.TopicPartition, wall kafka.Timestamp) unopened {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if u, ok := m.unopened[tp]; ok {
		return u
	}
	return unopened{options: seglog.Options{Clean: true, Now: wall}}
}

// openLog opens or creates a partition's log and makes the replica that has no role yet.
func (m *Manager) openLog(tp kafka.TopicPartition, id kafka.TopicID, watermark kafka.Offset, o seglog.Options) (*Partition, seglog.RecoveryReport, error) {
	h := m.host
	settings := m.settings(tp.Topic)
	o.Config, o.TopicID, o.Files, o.Directory = *settings, id, h.o.Files, h.o.Directory
	log, report, err := seglog.Open(h.o.FS, h.path(tp.String()), o)
	if err != nil {
		return nil, report, fmt.Errorf("open log %s: %w", tp, err)
	}
	p := &Partition{
		id: kafka.TopicIDPartition{TopicID: log.TopicID(), Partition: tp.Partition}, name: tp, host: h, log: log,
	}
	p.settings.Store(settings)
	p.machine = replica.New(h.o.Self, h.o.Rules, h.machineSettings(h.image.Load(), tp.Topic, 1, settings), replica.Log{
		Start: log.StartOffset(), End: log.EndOffset(), Flushed: log.RecoveryPoint(), Watermark: watermark,
	})
	p.hwSeen = p.machine.HighWatermark()
	p.lsoSeen = p.lastStable()
	p.startSeen = p.machine.LogStart()
	return p, report, nil
}

// path is the name of a folder or file in the log directory.
func (h *host) path(name string) string { return h.o.Directory.Path() + "/" + name }
