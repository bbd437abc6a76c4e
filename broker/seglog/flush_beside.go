package seglog

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// PendingFlush is a flush that waits for the disk without the partition's lock, so that appends and reads go on meanwhile:
//
//	f, err := l.BeginFlush()     under the lock: the end, and the files that hold something unflushed
//	f.Sync()                     without it
//	err = l.CommitFlush(f)       under the lock: the recovery point moves, not beyond that end
//
// The commit counts for nothing when the log was cut in between: what is below that end may have been appended after the fsync.
// What an fsync of the batches alone does not make durable is rare, and is left to the commit: names of new files, seals of
// complete segments and, from time to time, of the active one. Several may be under way at once.
type PendingFlush struct {
	l     *Log
	end   kafka.Offset
	cuts  uint64 // Log.cuts when it began
	files []pendingSync
	err   error // an OfflineError
}

// pendingSync is one file to be synced; a use of its handle belongs to the flush.
type pendingSync struct {
	seg *segment
	h   *handle
}

// BeginFlush begins a flush of everything up to the present end, nil when there is nothing to do. Sync must follow.
func (l *Log) BeginFlush() (*PendingFlush, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	if l.end == l.flushed && !l.namesDirty {
		return nil, nil
	}
	f := &PendingFlush{l: l, end: l.end, cuts: l.cuts}
	if err := f.begin(); err != nil {
		f.release()
		return nil, l.fault("flush", err)
	}
	return f, nil
}

func (f *PendingFlush) begin() error {
	l := f.l
	if err := l.readyToFlush(); err != nil {
		return err
	}
	for _, s := range l.segs[l.unsynced:] {
		if s.next <= l.flushed || s.size == 0 {
			continue
		}
		h, err := l.open(s, logFile)
		if err != nil {
			return err
		}
		f.files = append(f.files, pendingSync{s, h})
	}
	return nil
}

func (f *PendingFlush) release() {
	for _, s := range f.files {
		f.l.files.release(s.h)
	}
	f.files = nil
}

// Sync waits for the disk. An error is final for the directory at once, and comes from CommitFlush.
func (f *PendingFlush) Sync() {
	defer f.release()
	for _, s := range f.files {
		if err := f.l.syncHandle(s.h, s.seg, logFile); err != nil {
			f.err = f.l.faultBeside("flush", err)
			return
		}
	}
}

// CommitFlush moves the recovery point to the end with which the flush began, if the log was not cut since. RecoveryPoint tells.
func (l *Log) CommitFlush(f *PendingFlush) error {
	if f.err != nil {
		if l.failed == nil {
			l.failed = f.err
		}
		return f.err
	}
	if err := l.usable(); err != nil {
		return err
	}
	if f.cuts != l.cuts {
		return nil
	}
	if l.needsMoreThanSync() {
		if err := l.flush(sealBytes); err != nil {
			return l.fault("flush", err)
		}
		return nil
	}
	l.mu.Lock()
	l.flushed = max(l.flushed, f.end)
	l.mu.Unlock()
	return nil
}

// needsMoreThanSync tells whether something but the batches of the active segment is not durable, or due to be sealed.
func (l *Log) needsMoreThanSync() bool {
	s := l.active()
	_, sealed := l.indexed(s)
	grown := s.size - sealed
	return l.namesDirty || !l.journal.settled || l.unproven || l.unsynced < len(l.segs)-1 || grown >= sealBytes
}
