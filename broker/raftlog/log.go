package raftlog

import (
	"fmt"
	"os"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Options make a [Log].
type Options struct {
	Identity        Identity // must be that of the folder's files, except that an empty cluster id takes theirs
	FileBytes       int64    // a wal file that is longer is followed by a new one; DefaultFileBytes when 0
	TrailingEntries int      // entries kept before the snapshot, for followers that are a little behind

	splitBytes int64 // a wal file that is longer takes no more entries of an update; maxRecordBytes but in tests
}

// DefaultFileBytes is the length of a wal file after which a new one begins.
const DefaultFileBytes = 8 << 20

// Log is an open log. All entries since the last snapshot, and some before, are in memory too.
//
// Invariants: entries are contiguous and begin at compacted.index+1; compacted.index <= snap.index <= last index when there
// is a snapshot; everything in memory has been written, and synced as far as the caller of Save asked for.
type Log struct {
	fs     vfs.FS
	dir    string
	opts   Options
	id     Identity
	failed error // sticky

	hard      hardState
	entries   []*raftpb.Entry
	compacted mark // the entry before the first one kept; its term is known
	snap      mark
	snapSize  int64 // bytes of the snapshot's data
	confState *raftpb.ConfState

	file    vfs.File // the last wal file
	number  uint64   // of the last wal file
	size    int64    // where the next record goes
	durable int64    // leading bytes that are synced
	aside   int64    // bytes of the file that have a place on the disk, as far as is known
	rolling bool     // a new file was begun and not finished
	older   []oldFile
	highest uint64 // highest entry index that was ever written to the last file

	bytesSinceSnapshot   int64
	entriesSinceSnapshot int
	buf                  []byte
}

// oldFile is a finished wal file; it may go once highest is compacted.
type oldFile struct {
	number  uint64
	highest uint64
}

// Update is what one Save makes durable.
type Update struct {
	ClusterID string            // when learned
	HardState *raftpb.HardState // nil: unchanged
	Entries   []*raftpb.Entry   // contiguous; replace what the log has from the first of them on
	Snapshot  *raftpb.Snapshot  // received from the leader: replaces the whole log. nil: none
	Sync      bool              // whether the caller will speak of it before the next synced Save
}

// Save writes an update. When it returns nil and Sync was set, the update survives any crash.
// An error with [vfs.Heals] has changed nothing and may be tried again; any other error takes the log offline.
// Entries are kept by the log and must not be changed afterwards.
func (l *Log) Save(u Update) error {
	if l.failed != nil {
		return l.failed
	}
	if l.size >= l.opts.FileBytes || l.rolling {
		if err := l.roll(); err != nil {
			return err
		}
	}
	var snap mark
	if u.Snapshot != nil {
		md := u.Snapshot.GetMetadata()
		snap = mark{md.GetIndex(), md.GetTerm()}
		if err := l.writeSnapshot(snap, md.GetConfState(), u.Snapshot.GetData()); err != nil {
			return err
		}
	}
	b := l.buf[:0]
	add := func(kind recordType, body func([]byte) []byte) {
		b = appendRecord(b, l.number, l.size+int64(len(b)), l.durable, kind, body)
	}
	if u.ClusterID != "" {
		add(typeCluster, func(b []byte) []byte { return appendString(b, u.ClusterID) })
	}
	if u.Snapshot != nil {
		add(typeSnapshot, func(b []byte) []byte { return append(snap.append(b), 1) })
	}
	for _, e := range u.Entries {
		if l.splits(u, len(b)) {
			var err error
			if b, err = l.split(b, e.GetIndex()-1); err != nil {
				return err
			}
		}
		add(typeEntry, func(b []byte) []byte { return appendEntry(b, e) })
	}
	hard := l.hard
	if u.HardState != nil {
		hard = hardState{u.HardState.GetTerm(), u.HardState.GetVote(), u.HardState.GetCommit()}
		add(typeHardState, hard.append)
	}
	l.buf = b[:0]
	if err := l.write(b, u.Sync); err != nil {
		return err
	}
	if u.ClusterID != "" {
		l.id.ClusterID = u.ClusterID
	}
	l.hard = hard
	if u.Snapshot != nil {
		l.reset(snap, u.Snapshot.GetMetadata().GetConfState(), int64(len(u.Snapshot.GetData())))
	}
	l.keep(u.Entries)
	if u.Snapshot != nil {
		return l.removeObsolete()
	}
	return nil
}

// splits tells whether the entries of an update go on in another file, since together they would make this one longer than Open reads:
// a follower that was held up may get hundreds of megabytes at once. Not behind a snapshot or a cluster id, which a new file's
// header would deny until the update is complete: then there are few entries.
func (l *Log) splits(u Update, pending int) bool {
	return u.Snapshot == nil && u.ClusterID == "" && pending > 0 && l.size+int64(pending) >= max(l.opts.FileBytes, l.opts.splitBytes)
}

// split writes what there is of an update, entries up to last, and begins the next file. A crash, or an error, behind it leaves entries
// without the hard state that belongs to them, as a torn write may; when the update is tried again it writes them again.
func (l *Log) split(b []byte, last uint64) ([]byte, error) {
	l.buf = b[:0]
	if err := l.write(b, false); err != nil {
		return nil, err
	}
	l.highest = max(l.highest, last)
	return l.buf[:0], l.roll()
}

// write appends records, syncs when asked to, and seals what was synced.
func (l *Log) write(b []byte, sync bool) error {
	if len(b) > 0 {
		if _, err := l.file.WriteAt(b, l.size); err != nil {
			return l.writeFailed(err)
		}
		l.size += int64(len(b))
		if l.size+asideBytes/2 > l.aside {
			l.setAside()
		}
	}
	if !sync || l.size == l.durable {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		return l.fail("sync quorum log", err)
	}
	l.durable = l.size
	seal := appendRecord(l.buf[:0], l.number, l.size, l.durable, typeSeal, nil)
	l.buf = seal[:0]
	if _, err := l.file.WriteAt(seal, l.size); err != nil {
		// The update is durable. A full disk only costs the seal; its place is written again by the next record.
		l.aside = 0 // whatever the truncation leaves of it
		if vfs.IsFull(err) && l.file.Truncate(l.size) == nil {
			return nil
		}
		return l.fail("write quorum log", err)
	}
	l.size += int64(len(seal))
	return nil
}

func (l *Log) writeFailed(err error) error {
	if vfs.IsFull(err) {
		l.aside = 0
		if terr := l.file.Truncate(l.size); terr != nil {
			return l.fail("cut quorum log after a failed write", terr)
		}
		return fmt.Errorf("write quorum log: %w", err)
	}
	return l.fail("write quorum log", err)
}

// asideBytes is how much space behind its end the last wal file keeps on the disk, so that a disk that something else filled to
// the last byte does not stop the quorum: brokers can still register, leave, and delete topics.
const asideBytes = 1 << 20

// setAside takes that space, where the file system can and has it.
func (l *Log) setAside() {
	l.aside = l.size + asideBytes
	if f, ok := l.file.(vfs.Reserver); ok {
		_ = f.Reserve(l.aside) // it is tried again after half as much was written
	}
}

// fail takes the log offline.
func (l *Log) fail(what string, err error) error {
	l.failed = fmt.Errorf("%s: %w: %w", what, ErrOffline, err)
	return l.failed
}

// keep takes written entries into memory; they replace those from the first of them on.
func (l *Log) keep(entries []*raftpb.Entry) {
	if len(entries) == 0 {
		return
	}
	first := entries[0].GetIndex()
	l.entries = append(l.entries[:first-l.compacted.index-1:first-l.compacted.index-1], entries...)
	for _, e := range entries {
		l.bytesSinceSnapshot += int64(len(e.GetData())) + frameBytes
		l.highest = max(l.highest, e.GetIndex())
	}
	l.entriesSinceSnapshot += len(entries)
}

// reset empties the log after a snapshot that came from the leader.
func (l *Log) reset(m mark, cs *raftpb.ConfState, size int64) {
	l.entries, l.compacted = nil, m
	l.took(m, cs, size)
	l.hard.commit = max(l.hard.commit, m.index)
	l.hard.term = max(l.hard.term, m.term)
}

func (l *Log) took(m mark, cs *raftpb.ConfState, size int64) {
	l.snap, l.confState, l.snapSize = m, cs, size
	l.bytesSinceSnapshot, l.entriesSinceSnapshot = 0, 0
}

// SaveSnapshot keeps a snapshot of the applied state at index and forgets the entries that are further back than the trailing ones.
// Its errors are those of Save.
func (l *Log) SaveSnapshot(index uint64, cs *raftpb.ConfState, data []byte) error {
	if l.failed != nil {
		return l.failed
	}
	term, err := l.Term(index)
	if err != nil {
		return fmt.Errorf("save snapshot at index %d: %w", index, err)
	}
	m := mark{index, term}
	if err := l.writeSnapshot(m, cs, data); err != nil {
		return err
	}
	b := appendRecord(l.buf[:0], l.number, l.size, l.durable, typeSnapshot, func(b []byte) []byte { return append(m.append(b), 0) })
	l.buf = b[:0]
	if err := l.write(b, true); err != nil {
		return err
	}
	l.took(m, cs, int64(len(data)))
	l.compact()
	if err := l.roll(); err != nil {
		return err
	}
	return l.removeObsolete()
}

// compact forgets entries that the snapshot holds, except the trailing ones.
func (l *Log) compact() {
	keepAfter := uint64(0)
	if trailing := uint64(l.opts.TrailingEntries); l.snap.index > trailing {
		keepAfter = l.snap.index - trailing
	}
	if keepAfter <= l.compacted.index {
		return
	}
	n := keepAfter - l.compacted.index
	l.compacted = mark{l.entries[n-1].GetIndex(), l.entries[n-1].GetTerm()}
	l.entries = append([]*raftpb.Entry(nil), l.entries[n:]...)
}

func (l *Log) writeSnapshot(m mark, cs *raftpb.ConfState, data []byte) error {
	name := l.dir + "/" + snapshotName(m)
	if err := vfs.WriteFileAtomic(l.fs, name, encodeSnapshot(m, cs, data)); err != nil {
		return l.fileFailed("write snapshot", err)
	}
	return nil
}

// fileFailed tells apart a full disk and a lack of handles, after which it may be tried again, from everything else.
func (l *Log) fileFailed(what string, err error) error {
	if vfs.Heals(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return l.fail(what, err)
}

// roll begins a new wal file. Everything in the old one is durable before the new one exists.
func (l *Log) roll() error {
	if l.size > l.durable {
		if err := l.file.Sync(); err != nil {
			return l.fail("sync quorum log", err)
		}
		l.durable = l.size
	}
	// The new file may be there although it could not be opened. Nothing may come behind its header in the old one then.
	l.rolling = true
	f, size, err := createWAL(l.fs, l.dir, header{number: l.number + 1, Identity: l.id, hard: l.hard, snap: l.snap})
	if err != nil {
		return l.fileFailed("begin a quorum log file", err)
	}
	l.rolling = false
	l.file.Close() // synced above; nothing depends on it any more
	l.older = append(l.older, oldFile{number: l.number, highest: l.highest})
	l.file, l.number, l.size, l.durable, l.highest = f, l.number+1, size, size, 0
	l.setAside()
	return nil
}

func walName(number uint64) string { return fmt.Sprintf("wal-%016x.log", number) }

func createWAL(fsys vfs.FS, dir string, h header) (vfs.File, int64, error) {
	name := dir + "/" + walName(h.number)
	b := appendRecord(nil, h.number, 0, 0, typeHeader, h.append)
	if err := vfs.WriteFileAtomic(fsys, name, b); err != nil {
		return nil, 0, err
	}
	f, err := fsys.OpenFile(name, os.O_RDWR)
	return f, int64(len(b)), err
}

// removeObsolete removes files that nothing needs any more. A file that cannot be removed is left to the next time.
func (l *Log) removeObsolete() error {
	for len(l.older) > 0 && l.older[0].highest <= l.compacted.index {
		if err := l.fs.Remove(l.dir + "/" + walName(l.older[0].number)); err != nil {
			return nil //nolint:nilerr // it is only space
		}
		l.older = l.older[1:]
	}
	entries, err := l.fs.ReadDir(l.dir)
	if err != nil {
		return nil //nolint:nilerr // it is only space
	}
	for _, e := range entries {
		if isSnapshot(e.Name) && e.Name != snapshotName(l.snap) {
			_ = l.fs.Remove(l.dir + "/" + e.Name)
		}
	}
	return nil
}

// Close closes the file. What was not synced may be lost by a crash.
func (l *Log) Close() error {
	if l.failed == nil {
		l.failed = fmt.Errorf("%w: closed", ErrOffline)
	}
	return l.file.Close()
}
