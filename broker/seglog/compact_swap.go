package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Commit puts the group that Clean made in the place of its segments, unless these have changed since; then the work is
// dropped and the pass ends. Under the partition's lock.
//
// Order: the swap is noted in the journal (from here on a crash finishes it), the new files get their names, the other
// old segments are deleted, the new segment is sealed and the swap noted as done.
func (c *Compaction) Commit() error {
	g, l := c.cleaned, c.l
	c.cleaned = nil
	if g == nil {
		return errors.New("commit of a compaction without a cleaned group")
	}
	if err := l.usable(); err != nil {
		return err
	}
	if !g.current() {
		c.finished = true
		return g.discard()
	}
	done := kafka.NoOffset
	if c.rest == len(c.segs) || c.segs[c.rest].seg.base >= c.Report.Next {
		done = c.Report.Next
	}
	if err := l.swap(g, done); err != nil {
		return l.fault("compact", err)
	}
	if done != kafka.NoOffset {
		l.compaction.cleaned = done
	}
	return nil
}

// current tells whether the sources are still segments of the log, unchanged.
func (g *cleanedGroup) current() bool {
	l := g.l
	i := slices.Index(l.segs, g.sources[0])
	if i < 0 || i+len(g.sources) >= len(l.segs) {
		return false
	}
	return slices.Equal(l.segs[i:i+len(g.sources)], g.sources) && l.segs[i+len(g.sources)].base == g.next
}

func (l *Log) swap(g *cleanedGroup, done kafka.Offset) error {
	// The temporary names must be durable before the journal relies on them.
	if err := l.syncDir(); err != nil {
		return err
	}
	if err := l.journal.append(appendSwap(nil, g.seg.base, g.next)); err != nil {
		return err
	}
	l.compaction.durable = max(l.compaction.durable, g.next)
	g.seg.next = g.next // offsets up to the next segment are this one's, though their records may be gone
	err := l.retire(g.sources, func() error {
		if err := l.renameCleaned(g.seg.base); err != nil {
			return err
		}
		i := slices.Index(l.segs, g.sources[0])
		l.segs = slices.Concat(l.segs[:i], []*segment{g.seg}, l.segs[i+len(g.sources):])
		return nil
	})
	if err != nil {
		return err
	}
	l.findUnsynced()
	for _, s := range g.sources[1:] {
		if err := l.removeSegment(s); err != nil {
			return err
		}
	}
	if err := l.syncDir(); err != nil {
		return err
	}
	v := g.seg.makeSeal()
	records := appendSeal(appendMark(nil, kindSwapDone, g.seg.base), v)
	if done != kafka.NoOffset {
		records = appendMark(records, kindCleaned, done)
	}
	if err := l.journal.append(records); err != nil {
		return err
	}
	l.loadMu.Lock()
	g.seg.sealed, g.seg.hasSeal = v, true
	l.loadMu.Unlock()
	if err := l.trimSnapshots(); err != nil {
		return err
	}
	return l.compactJournal()
}

// renameCleaned gives a cleaned segment its names, the log last: as long as the temporary log is there, the rest can be
// done again.
func (l *Log) renameCleaned(base kafka.Offset) error {
	if _, err := l.fs.Stat(segmentName(l.dir, base, suffixes[logFile]+cleanedSuffix)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, k := range []fileKind{offsetIndexFile, timeIndexFile, txnIndexFile, logFile} {
		name := segmentName(l.dir, base, suffixes[k])
		err := l.fs.Rename(name+cleanedSuffix, name)
		if errors.Is(err, fs.ErrNotExist) {
			// There is none (or it has its name already, and is removed; then it is made anew).
			err = l.removeFile(name)
		}
		if err != nil {
			return fmt.Errorf("put cleaned segment in place: %w", err)
		}
	}
	return nil
}

// finishSwap is the rest of a swap that a crash interrupted.
func (l *Log) finishSwap(base, next kafka.Offset) error {
	if err := l.renameCleaned(base); err != nil {
		return err
	}
	entries, err := l.fs.ReadDir(l.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if len(e.Name) < 20 || e.IsDir {
			continue
		}
		at, ok := parseOffset(e.Name[:20])
		if ok && at > base && at < next && slices.Contains(suffixes[:], e.Name[20:]) {
			if err := l.removeFile(l.dir + "/" + e.Name); err != nil {
				return err
			}
		}
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return &vfs.SyncError{Err: err}
	}
	return l.journal.append(appendMark(nil, kindSwapDone, base))
}

// compactJournal writes the journal anew when most of it no longer counts.
func (l *Log) compactJournal() error {
	if l.journal.size < int64(2*len(l.segs)+journalSlack)*journalRecord {
		return nil
	}
	l.startNoted = l.start
	s := journalState{start: l.start, cut: l.flushed, cleaned: l.compaction.cleaned, durable: l.compaction.durable}
	return l.journal.rewrite(s, l.seals())
}

// seals lists the seals that count.
func (l *Log) seals() []seal {
	l.mu.Lock()
	defer l.mu.Unlock()
	var seals []seal
	for _, s := range l.segs {
		if s.hasSeal {
			seals = append(seals, s.sealed)
		}
	}
	return seals
}
