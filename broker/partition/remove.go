package partition

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// doomedDir is a folder that was renamed for deletion.
type doomedDir struct {
	name  string
	after kafka.Elapsed // when it may go
}

// remove takes a partition out of service and renames its folder: for deletion, by Purge after file.delete.delay.ms, or
// as a stray, kept for a person to look at.
func (m *Manager) remove(p *Partition, kind seglog.DirKind, now kafka.Elapsed) {
	h := m.host
	m.forget(p)
	if err := p.close(now); err != nil {
		p.storageError("close", err)
	}
	name := m.unusedName(p, kind)
	if err := h.o.Directory.RenamePartition(p.name.String(), name); err != nil {
		p.storageError("rename the folder of", err)
		return
	}
	if kind == seglog.DirDelete {
		delay := time.Duration(p.settings.Load().FileDeleteDelayMs) * time.Millisecond
		m.mu.Lock()
		m.doomed = append(m.doomed, doomedDir{name: name, after: now.Add(delay)})
		m.mu.Unlock()
	}
}

// unusedName is a name for a folder to be put aside. A partition may be put aside more than once: when it comes back here
// before the old folder is gone.
func (m *Manager) unusedName(p *Partition, kind seglog.DirKind) string {
	for n := 0; ; n++ {
		unique := hex.EncodeToString(p.id.TopicID[:12]) + fmt.Sprintf("%08x", n)
		name := seglog.DirName(p.name, kind, unique)
		if _, err := m.host.o.FS.Stat(m.host.path(name)); err != nil {
			return name
		}
	}
}

// Purge removes the folders whose time has come. An error is tried again at the next call.
func (m *Manager) Purge(now kafka.Elapsed) error {
	m.mu.Lock()
	doomed := m.doomed
	m.doomed = nil
	m.mu.Unlock()
	var first error
	kept := doomed[:0]
	for _, d := range doomed {
		if now < d.after {
			kept = append(kept, d)
			continue
		}
		if err := m.host.o.Directory.RemovePartition(d.name); err != nil {
			kept = append(kept, d)
			first = cmp.Or(first, err)
		}
	}
	m.mu.Lock()
	m.doomed = append(m.doomed, kept...)
	m.mu.Unlock()
	return first
}

func sortPlacements(todo []placement) {
	slices.SortFunc(todo, func(a, b placement) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.id.Partition, b.id.Partition))
	})
}
