package seglog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Open opens a log, creating it when its folder is missing or holds none, and recovers it from whatever a crash left.
// After an error nothing is open; opening may be tried again.
func Open(fsys vfs.FS, dir string, o Options) (*Log, RecoveryReport, error) {
	cfg := o.Config
	l := &Log{
		fs: fsys, dir: path.Clean(dir), files: o.Files, directory: o.Directory, topicID: o.TopicID, cfg: &cfg,
		producers: producerstate.New(0, o.Producers), progress: o.Progress,
	}
	if l.files == nil {
		l.files = NewFilePool(0)
	}
	var r RecoveryReport
	if err := l.usable(); err != nil {
		return nil, r, err
	}
	if err := l.openAll(o, &r); err != nil {
		l.forgetFiles()
		var corrupt *CorruptError
		if errors.As(err, &corrupt) || errors.Is(err, errTopic) {
			return nil, r, fmt.Errorf("open log: %w", err)
		}
		return nil, r, l.fault("open log", err)
	}
	l.progress = nil
	return l, r, nil
}

var errTopic = errors.New("folder belongs to another topic")

func (l *Log) openAll(o Options, r *RecoveryReport) error {
	switch _, err := l.fs.Stat(l.dir); {
	case errors.Is(err, fs.ErrNotExist):
		r.Created = true
		return l.begin(o)
	case err != nil:
		return err
	}
	if err := l.checkMetadata(); err != nil {
		return err
	}
	j, js, err := openJournal(l.fs, l.dir)
	if err != nil {
		return err
	}
	l.journal, r.JournalDamaged = j, js.damaged
	j.settle, l.folderDirty, j.unproven = l.settleFolder, js.records == 0, !o.Clean
	if !js.ours {
		if err := j.create(); err != nil {
			return err
		}
		l.namesDirty = true
	}
	if js.swap != kafka.NoOffset || js.reset != kafka.NoOffset {
		if err := j.prove(); err != nil {
			return err
		}
	}
	if js.swap != kafka.NoOffset && js.reset == kafka.NoOffset { // a crash interrupted a compaction
		if err := l.finishSwap(js.swap, js.swapEnd); err != nil {
			return err
		}
	}
	l.compaction = compactionState{cleaned: js.cleaned, durable: js.durable}
	if err := l.listFiles(); err != nil {
		return err
	}
	if js.reset != kafka.NoOffset { // a crash interrupted TruncateFullyTo
		if err := l.finishReset(js.reset); err != nil {
			return err
		}
	}
	if len(l.segs) == 0 {
		r.Created = true
		first := max(o.LogStart, js.start, 0)
		if err := l.createSegment(first, o.Now); err != nil {
			return err
		}
		if err := l.syncDir(); err != nil {
			return err
		}
	}
	if err := l.recover(o, js, r); err != nil {
		return err
	}
	return l.settleStart(o, js)
}

// checkMetadata compares or writes partition.metadata. One that cannot be read is written anew.
func (l *Log) checkMetadata() error {
	id, err := ReadTopicID(l.fs, l.dir)
	switch {
	case err == nil && l.topicID.IsZero():
		l.topicID = id
		return nil
	case err == nil && id == l.topicID:
		return nil
	case err == nil && !id.IsZero():
		return fmt.Errorf("%s: %w: %s, not %s", path.Join(l.dir, partitionMetadata), errTopic, id, l.topicID)
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt):
		return err
	case l.topicID.IsZero():
		return nil
	}
	if err := l.writeMetadata(); err != nil {
		return err
	}
	if err := l.syncMetadata(); err != nil {
		return err
	}
	return l.syncDir()
}

// listFiles finds segments and snapshots and clears what a crash left half done.
func (l *Log) listFiles() error {
	entries, err := l.fs.ReadDir(l.dir)
	if err != nil {
		return err
	}
	sizes := map[kafka.Offset]int64{}
	for _, e := range entries {
		ext := path.Ext(e.Name)
		switch {
		case e.IsDir:
		case ext == deletedSuffix || ext == cleanedSuffix || ext == vfs.TempSuffix:
			if err := l.fs.Remove(path.Join(l.dir, e.Name)); err != nil {
				return err
			}
			l.namesDirty = true
		default:
			base, ok := parseOffset(strings.TrimSuffix(e.Name, ext))
			switch {
			case !ok:
			case ext == suffixes[logFile]:
				sizes[base] = e.Size
			case ext == snapshotSuffix:
				l.snapshots = append(l.snapshots, base)
			}
		}
	}
	for base, size := range sizes { // sorted below
		s := newSegment(base)
		s.size = size
		l.segs = append(l.segs, s)
	}
	slices.SortFunc(l.segs, func(a, b *segment) int { return cmp.Compare(a.base, b.base) })
	slices.Sort(l.snapshots)
	return nil
}

// parseOffset reads the 20 digits of a file's name.
func parseOffset(digits string) (kafka.Offset, bool) {
	if len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return kafka.Offset(n), err == nil && n >= 0
}

// createSegment adds an empty segment at the end of the log. Its name is not durable yet. A file that is there by
// that name is not of this log any more and is emptied.
func (l *Log) createSegment(base kafka.Offset, now kafka.Timestamp) error {
	if err := l.removeFile(segmentName(l.dir, base, suffixes[txnIndexFile])); err != nil {
		return err
	}
	return l.createFiles(base, now)
}

// createFiles makes the files of an empty segment and adds it.
func (l *Log) createFiles(base kafka.Offset, now kafka.Timestamp) error {
	s := newSegment(base)
	s.idx = newIndexes()
	s.appended = now
	for _, k := range []fileKind{offsetIndexFile, timeIndexFile} { // Kafka's tools want both though they are empty
		f, err := l.fs.OpenFile(segmentName(l.dir, base, suffixes[k]), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return fmt.Errorf("create segment: %w", err)
		}
		f.Close()
	}
	h, err := l.files.acquire(&s.files[logFile], func() (vfs.File, error) {
		return l.fs.OpenFile(segmentName(l.dir, base, suffixes[logFile]), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	})
	if err != nil {
		return fmt.Errorf("create segment: %w", err)
	}
	l.files.release(h)
	l.namesDirty = true
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segs = append(l.segs[:len(l.segs):len(l.segs)], s)
	l.end = base
	return nil
}

// removeFile removes a file that may be missing.
func (l *Log) removeFile(name string) error {
	if err := l.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// settleStart finds the log start offset, and brings the journal into order.
func (l *Log) settleStart(o Options, js journalState) error {
	start := js.start
	if start == kafka.NoOffset || js.damaged {
		start = max(start, o.LogStart)
	}
	start = max(start, l.segs[0].base)
	if start > l.end {
		// What lay between was lost, and was deleted anyway.
		if err := l.reset(start, o.Now); err != nil {
			return err
		}
	}
	l.start = start
	if l.epochs.TruncateFromStart(start) {
		l.epochsDirty = true
	}
	l.producers.AdvanceStart(start)
	if js.start == kafka.NoOffset && start > l.segs[0].base { // the journal is new or was lost
		if err := l.journal.append(appendMark(nil, kindStart, start)); err != nil {
			return err
		}
		js.start = start
	}
	if l.startNoted = js.start; l.journal.unproven {
		l.startNoted = kafka.NoOffset // it was read, and may not be on the disk
	}
	live := len(js.seals) + 2
	if !js.damaged && js.records <= 2*live+journalSlack {
		return nil
	}
	if js.start != kafka.NoOffset || js.damaged {
		js.start, l.startNoted = start, start
	}
	return l.journal.rewrite(js, l.seals())
}

func (l *Log) forgetFiles() {
	for _, s := range l.segs {
		l.forgetFilesOf(s)
	}
}

// forgetFilesOf closes a segment's files, once nobody uses them.
func (l *Log) forgetFilesOf(s *segment) {
	for k := range s.files {
		l.files.forget(&s.files[k])
	}
}
