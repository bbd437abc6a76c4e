package partition

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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
	m.forget(p)
	if err := p.close(now); err != nil {
		p.storageError("close", err)
	}
	after, _ := afterMs(now, p.settings.Load().FileDeleteDelayMs)
	m.putAside(p.name, p.id.TopicID, kind, after)
}

// putAside renames a partition's folder. after is when it may go, if it is to be deleted.
func (m *Manager) putAside(tp kafka.TopicPartition, id kafka.TopicID, kind seglog.DirKind, after kafka.Elapsed) {
	name := m.unusedName(tp, id, kind)
	err := m.host.o.Directory.RenamePartition(tp.String(), name)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist): // somebody else has deleted it
	case m.host.ofLog(err):
		m.host.tellDamage("rename the folder of", tp, err)
	case !heals(err):
		m.host.fail("rename the folder of", tp, err)
	}
	if kind == seglog.DirDelete { // after an error too: the name may be the new one, and one that is not there costs nothing
		m.mu.Lock()
		m.doomed = append(m.doomed, doomedDir{name: name, after: after})
		m.mu.Unlock()
	}
}

// unusedName is a name for a folder to be put aside. A partition may be put aside more than once: when it comes back here
// before the old folder is gone.
func (m *Manager) unusedName(tp kafka.TopicPartition, id kafka.TopicID, kind seglog.DirKind) string {
	for n := 0; ; n++ {
		unique := hex.EncodeToString(id[:12]) + fmt.Sprintf("%08x", n)
		name := seglog.DirName(tp, kind, unique)
		if _, err := m.host.o.FS.Stat(m.host.path(name)); err != nil {
			return name
		}
	}
}

// purgeRetry is the pause before a folder that could not be removed is tried again: each time is a line in the log.
const purgeRetry = time.Minute

// Purge removes the folders whose time has come. One that cannot be removed is tried again a while later.
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
			d.after = now.Add(purgeRetry)
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
