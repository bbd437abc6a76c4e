package seglog

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// sealBytes is how far the active segment grows before a Flush seals it again: what a crash may leave to scan beyond
// the recovery point, however stale the recovery point checkpoint is. A seal costs the fsyncs of the index files, so
// flush.messages=1 does not pay them for each message.
const sealBytes = 8 << 20

// Flush makes everything up to the end durable and moves the recovery point there. Order: names of new files, batches,
// then whatever seals vouch for, then the seals. After an error of fsync the directory is offline: what the disk holds
// is not known, and trying again would only hide that.
func (l *Log) Flush() error {
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.flush(sealBytes); err != nil {
		return l.fault("flush", err)
	}
	return nil
}

// flush seals every segment that is complete, and the active one if it has grown by grown bytes since its last seal.
func (l *Log) flush(grown int64) error {
	if l.end == l.flushed && !l.namesDirty && grown > 0 {
		return nil
	}
	if err := l.readyToFlush(); err != nil {
		return err
	}
	var toSeal []*segment
	for i := l.unsynced; i < len(l.segs); i++ {
		s := l.segs[i]
		if s.next > l.flushed && s.size > 0 {
			if err := l.syncFile(s, logFile); err != nil {
				return err
			}
		}
		indexed, sealed := l.indexed(s)
		closed := i < len(l.segs)-1
		if indexed && s.size > sealed && (closed || s.size-sealed >= grown) {
			toSeal = append(toSeal, s)
		}
	}
	if err := l.sealAll(toSeal); err != nil {
		return err
	}
	if !l.journal.settled {
		if err := l.journal.append(nil); err != nil {
			return err
		}
	}
	if l.namesDirty {
		if err := l.syncDir(); err != nil {
			return err
		}
	}
	l.unsynced = len(l.segs) - 1
	l.mu.Lock()
	l.flushed = l.end
	l.mu.Unlock()
	return nil
}

// readyToFlush sees to it that an fsync says what it seems to say.
func (l *Log) readyToFlush() error {
	// Bytes without a name are durable for nobody.
	if _, err := l.fs.Stat(segmentName(l.dir, l.active().base, suffixes[logFile])); err != nil {
		return err
	}
	if l.unproven {
		return l.writeAgain()
	}
	return nil
}

// sealAll makes what the seals of these segments vouch for durable, and then the seals.
func (l *Log) sealAll(segs []*segment) error {
	for group := range slices.Chunk(segs, sealGroup) {
		if err := l.sealSome(group); err != nil {
			return err
		}
	}
	return nil
}

// sealSome seals as many segments as go into one group of the journal.
func (l *Log) sealSome(segs []*segment) error {
	var records []byte
	seals := make([]seal, len(segs))
	for i, s := range segs {
		if err := l.writeTails(s, true); err != nil {
			return err
		}
		for k, e := range inOrder(s.idx) {
			if e.written > 0 {
				if err := l.syncFile(s, offsetIndexFile+fileKind(k)); err != nil {
					return err
				}
			}
		}
		seals[i] = s.makeSeal()
		records = appendSeal(records, seals[i])
		if s == l.active() && s.size > 0 {
			if err := l.writeSnapshot(); err != nil {
				return err
			}
		}
		if err := l.syncSnapshot(s.next); err != nil {
			return err
		}
	}
	if err := l.writeEpochs(); err != nil {
		return err
	}
	if l.namesDirty && !l.folderDirty { // else the journal sees to it
		if err := l.syncDir(); err != nil {
			return err
		}
	}
	if err := l.journal.append(records); err != nil {
		return err
	}
	l.loadMu.Lock()
	defer l.loadMu.Unlock()
	for i, s := range segs {
		s.sealed, s.hasSeal = seals[i], true
	}
	return l.compactJournal()
}

func (l *Log) syncFile(s *segment, k fileKind) error {
	h, err := l.open(s, k)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	return l.syncHandle(h, s, k)
}

// syncHandle is where an fsync vouches for batches and indexes. The kernel tells of an error once: without the lock, a second
// fsync beside the one that fails would pass, and vouch for what is lost.
func (l *Log) syncHandle(h *handle, s *segment, k fileKind) error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	if l.syncFailed != nil {
		return l.syncFailed
	}
	if err := h.file.Sync(); err != nil {
		l.syncFailed = &vfs.SyncError{Err: fmt.Errorf("%s: %w", segmentName(l.dir, s.base, suffixes[k]), err)}
	}
	return l.syncFailed
}

// Close flushes, seals every segment, writes the producers' snapshot and closes the files, so that the next Open with
// Options.Clean scans nothing. Slices that are still out stay valid. A log that is offline is closed as it is.
func (l *Log) Close() error {
	if l.closed {
		return ErrClosed
	}
	var err error
	if l.interrupted == nil { // else the journal says what is left to do
		err = l.usable()
	}
	if err == nil && len(l.segs) > 0 {
		if err = l.closeClean(); err != nil {
			err = l.fault("close log", err)
		}
	}
	l.closed = true
	l.mu.Lock()
	segs := l.segs
	l.mu.Unlock()
	for _, s := range segs {
		l.forgetFilesOf(s)
	}
	return err
}

func (l *Log) closeClean() error {
	s := l.active()
	if l.tailDirty {
		h, err := l.open(s, logFile)
		if err != nil {
			return err
		}
		err = h.file.Truncate(s.size)
		l.files.release(h)
		if err != nil {
			return err
		}
		l.tailDirty = false
	}
	if l.flushed == l.end && !l.sealNeeded() {
		if err := l.closeEpochs(); err != nil {
			return err
		}
		if l.producers.Len() > 0 || len(l.snapshots) > 0 {
			return l.writeSnapshot()
		}
		return nil
	}
	for _, t := range l.segs {
		if t.complete() || t.size == 0 {
			continue
		}
		if err := l.loadIndexes(t); err != nil {
			return err
		}
		l.mu.Lock()
		t.noteTime()
		l.mu.Unlock()
	}
	l.unsynced = 0
	for l.unsynced < len(l.segs)-1 && l.segs[l.unsynced].complete() {
		l.unsynced++
	}
	if err := l.flush(0); err != nil {
		return err
	}
	return l.closeEpochs() // when no segment was sealed
}

// closeEpochs makes the leader epochs durable, but not those of an empty log that may itself be gone after a crash.
func (l *Log) closeEpochs() error {
	if !l.epochsDirty || l.folderDirty {
		return nil
	}
	if err := l.writeEpochs(); err != nil {
		return err
	}
	return l.syncDir()
}

// sealNeeded tells whether some segment has batches that no seal vouches for. An empty segment needs none: logs that are
// never written cost nothing to close.
func (l *Log) sealNeeded() bool {
	for _, s := range l.segs {
		if _, sealed := l.indexed(s); s.size > 0 && sealed != s.size {
			return true
		}
	}
	return false
}
