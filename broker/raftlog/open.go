package raftlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Open reads a folder's log, or begins an empty one. See the package comment for what it cuts and what it refuses.
func Open(fsys vfs.FS, dir string, o Options) (*Log, error) {
	if o.FileBytes == 0 {
		o.FileBytes = DefaultFileBytes
	}
	if o.splitBytes == 0 {
		o.splitBytes = maxRecordBytes
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("open quorum log: %w", err)
	}
	if err := fsys.SyncDir(path.Dir(dir)); err != nil {
		return nil, fmt.Errorf("open quorum log: %w", err)
	}
	numbers, snapshots, err := list(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("open quorum log: %w", err)
	}
	l := &Log{fs: fsys, dir: dir, opts: o}
	if len(numbers) == 0 {
		if len(snapshots) > 0 {
			return nil, corruptAt(dir, 0, "snapshots without a wal file")
		}
		return l, l.begin()
	}
	if err := l.replay(numbers); err != nil {
		return nil, err
	}
	if err := l.settle(); err != nil {
		l.file.Close()
		return nil, err
	}
	_ = l.removeObsolete()
	l.setAside()
	return l, nil
}

// begin makes the first file of an empty log.
func (l *Log) begin() error {
	l.id, l.number = l.opts.Identity, 1
	f, size, err := createWAL(l.fs, l.dir, header{number: 1, Identity: l.id})
	if err != nil {
		return fmt.Errorf("open quorum log: %w", err)
	}
	l.file, l.size, l.durable = f, size, size
	l.setAside()
	return nil
}

// list finds the wal files, which must be without a gap, and the snapshots, and removes what is unfinished.
func list(fsys vfs.FS, dir string) (numbers []uint64, snapshots []string, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name, ".tmp"):
			if err := fsys.Remove(dir + "/" + e.Name); err != nil && !isNotExist(err) {
				return nil, nil, err
			}
		case isSnapshot(e.Name):
			snapshots = append(snapshots, e.Name)
		case strings.HasPrefix(e.Name, "wal-") && strings.HasSuffix(e.Name, ".log"):
			n, err := strconv.ParseUint(e.Name[4:len(e.Name)-4], 16, 64)
			if err != nil || walName(n) != e.Name {
				return nil, nil, fmt.Errorf("%s/%s is no file of a quorum log: %w", dir, e.Name, ErrCorrupt)
			}
			if len(numbers) > 0 && n != numbers[len(numbers)-1]+1 {
				return nil, nil, fmt.Errorf("%s: %s is missing: %w", dir, walName(numbers[len(numbers)-1]+1), ErrCorrupt)
			}
			numbers = append(numbers, n)
		}
	}
	return numbers, snapshots, nil
}

func isSnapshot(name string) bool {
	return strings.HasPrefix(name, "snapshot-") && strings.HasSuffix(name, ".snap")
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// replay reads the wal files in order. It leaves the last one open, its torn tail cut.
func (l *Log) replay(numbers []uint64) error {
	for i, n := range numbers {
		last := i == len(numbers)-1
		name := l.dir + "/" + walName(n)
		f, err := l.fs.OpenFile(name, os.O_RDWR)
		if err != nil {
			return fmt.Errorf("open quorum log: %w", err)
		}
		end, err := l.replayFile(f, name, n, i == 0, last)
		if err != nil {
			f.Close()
			return err
		}
		if !last {
			f.Close() // read only so far
			l.older = append(l.older, oldFile{number: n, highest: l.highest})
			l.highest = 0
			continue
		}
		l.file, l.number, l.size, l.durable = f, n, end, end
	}
	return nil
}

func (l *Log) replayFile(f vfs.File, name string, number uint64, first, last bool) (end int64, err error) {
	data, err := readAll(f, name, 2*maxRecordBytes+l.opts.FileBytes)
	if err != nil {
		return 0, fmt.Errorf("open quorum log: %w", err)
	}
	pos, durable := int64(0), int64(0)
	for pos < int64(len(data)) {
		r, next, ok := parseRecord(data, number, pos)
		if !ok {
			break
		}
		if (r.kind == typeHeader) != (pos == 0) {
			return 0, corruptAt(name, pos, "header in the wrong place")
		}
		if err := l.apply(r, number, first); err != nil {
			return 0, corruptAt(name, pos, "%v", err)
		}
		pos, durable = next, max(durable, r.durable)
	}
	switch {
	case pos == 0:
		return 0, corruptAt(name, 0, "no header") // the file appeared under its name with it
	case pos == int64(len(data)) && !last:
		return pos, nil
	case !last:
		return 0, corruptAt(name, pos, "bad record before the last file")
	case pos < int64(len(data)) && provenDurable(data, number, pos):
		return 0, corruptAt(name, pos, "bad record before later ones")
	}
	// Cut the torn tail, and make durable what was read: we build on it. What nothing proves to have been synced is written again, since a
	// process before us may have died of a failed fsync, after which the kernel holds pages for written that are not.
	if pos < int64(len(data)) { // only then: it gives up the space that is set aside
		if err := f.Truncate(pos); err != nil {
			return 0, fmt.Errorf("open quorum log: cut torn tail of %s: %w", name, err)
		}
	}
	if durable < pos {
		if _, err := f.WriteAt(data[durable:pos], durable); err != nil {
			return 0, fmt.Errorf("open quorum log: write the tail of %s again: %w", name, err)
		}
	}
	if err := f.Sync(); err != nil {
		return 0, fmt.Errorf("open quorum log: sync %s: %w", name, err)
	}
	return pos, nil
}

// apply folds one record into the state.
func (l *Log) apply(r record, number uint64, first bool) error {
	d := decoder{b: r.body}
	switch r.kind {
	case typeHeader:
		h, err := parseHeader(r.body)
		if err != nil {
			return err
		}
		if h.number != number {
			return fmt.Errorf("file of number %d", h.number)
		}
		if first {
			l.id, l.hard, l.snap = h.Identity, h.hard, h.snap
			return nil
		}
		if h.hard.term < l.hard.term || h.snap != l.snap || h.Node != l.id.Node || h.Directory != l.id.Directory {
			return fmt.Errorf("header does not go on where the file before it ended")
		}
		l.id, l.hard = h.Identity, h.hard
	case typeHardState:
		l.hard = d.hardState()
	case typeCluster:
		l.id.ClusterID = d.string("cluster id")
	case typeSnapshot:
		l.snap = d.mark()
		if reset := d.byte("reset") == 1; reset {
			l.entries = nil
			l.hard.commit, l.hard.term = max(l.hard.commit, l.snap.index), max(l.hard.term, l.snap.term)
		}
		l.bytesSinceSnapshot, l.entriesSinceSnapshot = 0, 0
	case typeEntry:
		e, err := parseEntry(r.body)
		if err != nil {
			return err
		}
		return l.replayEntry(e)
	}
	return d.err
}

// replayEntry puts one entry at its place. The first one read may be anywhere, and one before it may come later: the
// first file left may begin with uncommitted entries that a later leader replaced from further back.
func (l *Log) replayEntry(e *raftpb.Entry) error {
	if len(l.entries) == 0 || e.GetIndex() <= l.compacted.index {
		l.entries, l.compacted = nil, mark{index: e.GetIndex() - 1}
	}
	if e.GetIndex() > l.lastIndex()+1 {
		return fmt.Errorf("entry %d does not follow %d", e.GetIndex(), l.lastIndex())
	}
	l.keep([]*raftpb.Entry{e})
	return nil
}

// settle checks the state as a whole and brings it into the shape of the invariants.
func (l *Log) settle() error {
	want := l.opts.Identity
	if l.id.Node != want.Node || l.id.Directory != want.Directory ||
		(want.ClusterID != "" && l.id.ClusterID != "" && want.ClusterID != l.id.ClusterID) {
		return fmt.Errorf("open quorum log %s: it is of node %d, directory %s, cluster %q, not of node %d, directory %s, cluster %q: %w",
			l.dir, l.id.Node, l.id.Directory, l.id.ClusterID, want.Node, want.Directory, want.ClusterID, ErrForeign)
	}
	if l.snap.index > 0 {
		cs, data, err := readSnapshot(l.fs, l.dir, l.snap)
		if isNotExist(err) {
			return corruptAt(l.dir, 0, "%s is missing", snapshotName(l.snap))
		}
		if err != nil {
			return fmt.Errorf("open quorum log: %w", err)
		}
		l.confState, l.snapSize = cs, int64(len(data))
	}
	if err := l.joinSnapshot(); err != nil {
		return err
	}
	last, _ := l.Term(l.lastIndex())
	if l.hard.term < last { // a crash came between entries and the hard state of one update
		l.hard.term, l.hard.vote = last, 0
	}
	l.hard.commit = min(max(l.hard.commit, l.snap.index), l.lastIndex())
	return nil
}

// joinSnapshot fits the entries read to the snapshot in force.
func (l *Log) joinSnapshot() error {
	switch {
	case len(l.entries) == 0 || l.lastIndex() < l.snap.index:
		l.entries, l.compacted = nil, l.snap
		return nil
	case l.compacted.index > l.snap.index:
		return corruptAt(l.dir, 0, "entries %d to %d are missing", l.snap.index+1, l.compacted.index)
	case l.compacted.index == l.snap.index:
		l.compacted.term = l.snap.term
	case l.compacted.index > 0: // the term before the first entry is not known: that entry takes its place
		l.compacted = mark{l.entries[0].GetIndex(), l.entries[0].GetTerm()}
		l.entries = l.entries[1:]
	}
	if term, err := l.Term(l.snap.index); err != nil || term != l.snap.term {
		return corruptAt(l.dir, 0, "entry %d has term %d, the snapshot has %d", l.snap.index, term, l.snap.term)
	}
	l.compact()
	return nil
}
