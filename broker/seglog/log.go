package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
	"github.com/fairlead-io/fairlead/broker/producerstate"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Log is one partition's log. See the package comment for who may call what.
type Log struct {
	fs        vfs.FS
	dir       string
	files     *FilePool
	directory *Directory // may be nil
	topicID   kafka.TopicID
	progress  func(bytes int) // Options.Progress while the log is opened

	// loadMu serialises the loading of indexes, which reads files. It comes before mu and the pool's.
	loadMu  sync.Mutex
	rebuilt atomic.Int64 // segments whose indexes were made anew since the open

	syncMu     sync.Mutex // one fsync of a segment's file at a time; comes after loadMu, and is never held with mu
	syncFailed error      // guarded by syncMu: an fsync failed, and none is tried again

	// The writer's; not for readers:
	journal     *journal
	epochs      leaderepoch.History
	epochsDirty bool // the file on disk is older
	witness     epochWitness
	producers   *producerstate.State
	snapshots   []kafka.Offset // of the .snapshot files, ascending
	folderDirty bool           // that there is a log, and whose it is, may not be durable: see begin.go
	namesDirty  bool           // names in the folder are not durable
	tailDirty   bool           // the active segment's file may be longer than its size
	unproven    bool           // what is not flushed must be written again before an fsync vouches for it: see again.go
	unsynced    int            // segs[unsynced:] hold batches that are not durable
	cuts        uint64         // truncations so far: see PendingFlush
	failed      error          // every later change is refused with it
	interrupted error          // of a TruncateFullyTo that left no segment: until it is done again, nothing else is
	closed      bool
	compaction  compactionState
	startNoted  kafka.Offset // log start offset in the journal, NoOffset: none. Retention moves the start without noting it

	mu sync.Mutex
	// Guarded by mu, changed by the writer. segs is replaced, never changed, so readers may keep it.
	cfg     *Config
	segs    []*segment // ascending, at least one; the last is the active one
	start   kafka.Offset
	end     kafka.Offset
	flushed kafka.Offset // the recovery point: everything below is durable
	hints   hints
}

// Dir is the log's folder.
func (l *Log) Dir() string { return l.dir }

// TopicID is the topic's id as in partition.metadata.
func (l *Log) TopicID() kafka.TopicID { return l.topicID }

// SetConfig gives the log new settings, which count from the next operation on.
func (l *Log) SetConfig(c Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cfg = &c
}

func (l *Log) config() *Config {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg
}

func (l *Log) indexInterval() int { return int(l.config().IndexIntervalBytes) }

// StartOffset is the first offset that may be read.
func (l *Log) StartOffset() kafka.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start
}

// EndOffset is the offset that the next record gets.
func (l *Log) EndOffset() kafka.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// RecoveryPoint is the offset below which everything is durable: what recovery-point-offset-checkpoint should say.
func (l *Log) RecoveryPoint() kafka.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushed
}

// Size is the bytes of all segments, without indexes.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := int64(0)
	for _, s := range l.segs {
		n += s.size
	}
	return n
}

// SegmentInfo describes a segment.
type SegmentInfo struct {
	Base kafka.Offset
	Size int64
}

// Segments lists the segments in offset order.
func (l *Log) Segments() []SegmentInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	infos := make([]SegmentInfo, len(l.segs))
	for i, s := range l.segs {
		infos[i] = SegmentInfo{s.base, s.size}
	}
	return infos
}

// RebuiltIndexes counts the segments whose indexes were made anew since the open.
func (l *Log) RebuiltIndexes() int { return int(l.rebuilt.Load()) }

// Epochs is the history of leader epochs: a view, to be read under the partition's lock and changed by the log alone.
func (l *Log) Epochs() *leaderepoch.History { return &l.epochs }

// Producers is the state of the producers: a view, to be used under the partition's lock. The caller may tell it the
// high watermark and expire producers; batches are noted by the log.
func (l *Log) Producers() *producerstate.State { return l.producers }

// AssignEpoch notes that a leader of this epoch was elected with the log's present end.
func (l *Log) AssignEpoch(epoch kafka.LeaderEpoch) error {
	if err := l.usable(); err != nil {
		return err
	}
	if !l.epochs.Assign(epoch, l.end) {
		return nil
	}
	l.epochsDirty = true
	return nil
}

// usable is the error of a log that may no longer be changed.
func (l *Log) usable() error {
	switch {
	case l.closed:
		return ErrClosed
	case l.failed != nil:
		return l.failed
	case l.interrupted != nil:
		return l.interrupted
	case l.directory != nil:
		return l.directory.Offline()
	}
	return nil
}

// fault judges an error of a change. One that heals comes back wrapped; damage in stored batches, and files that are gone or
// cannot be read, end the changes of this log alone; any other error takes the log, and its directory, offline, because what
// is on the disk is no longer known.
func (l *Log) fault(op string, err error) error {
	if errors.Is(err, ErrOffline) || errors.Is(err, ErrFailed) {
		return err
	}
	if vfs.Heals(err) {
		return fmt.Errorf("%s: %w", op, err)
	}
	if l.directory == nil && vfs.IsConfined(err) || l.directory != nil && l.directory.Confines(err) {
		l.failed = &FailedError{Op: op, Dir: l.dir, Err: err}
		return l.failed
	}
	var syncing *vfs.SyncError
	if errors.Is(err, ErrCorrupt) && !errors.As(err, &syncing) {
		l.failed = fmt.Errorf("%s: %w", op, err)
		return l.failed
	}
	failure := &OfflineError{Op: op, Dir: l.dir, Err: err}
	l.failed = failure
	if l.directory != nil {
		l.directory.fail(&OfflineError{Op: op, Dir: path.Dir(l.dir), Err: err})
	}
	return failure
}

// faultBeside is fault for what runs beside the writer: only an fsync that failed is final, and only the directory can
// be told.
func (l *Log) faultBeside(op string, err error) error {
	var syncing *vfs.SyncError
	if !errors.As(err, &syncing) || vfs.Heals(err) {
		return fmt.Errorf("%s %s: %w", op, l.dir, err)
	}
	failure := &OfflineError{Op: op, Dir: path.Dir(l.dir), Err: err}
	if l.directory != nil {
		l.directory.fail(failure)
	}
	return failure
}

// Present tells whether the log's files are still where they were. A reader may miss one that was just deleted or replaced.
func (l *Log) Present() bool {
	l.mu.Lock()
	segs := l.segs
	l.mu.Unlock()
	if len(segs) == 0 {
		return true // it is being emptied
	}
	_, err := l.fs.Stat(segmentName(l.dir, segs[len(segs)-1].base, suffixes[logFile]))
	return !errors.Is(err, fs.ErrNotExist)
}

// active is the segment that appends go to. For the writer.
func (l *Log) active() *segment { return l.segs[len(l.segs)-1] }

// segmentsTo lists the segments up to s. For the writer, or a reader with a reference to s.
func (l *Log) segmentsTo(s *segment) []*segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, t := range l.segs {
		if t.base >= s.base {
			return append(l.segs[:i:i], s)
		}
	}
	return append(l.segs[:len(l.segs):len(l.segs)], s)
}

// syncDir makes the names in the folder durable.
func (l *Log) syncDir() error {
	if err := l.fs.SyncDir(l.dir); err != nil {
		return &vfs.SyncError{Err: err}
	}
	l.namesDirty = false
	return nil
}
