package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// A log that was just made holds nothing that anybody was told of, so making it costs no fsync: brokers are given
// thousands at once. What a crash leaves of it then is one of these:
//
//   - nothing: it is made again;
//   - a folder whose partition.metadata says whose it is, with an empty journal or none: an empty log, or one with batches that were
//     never flushed, to be checked as any such;
//   - a folder whose partition.metadata is missing or torn, with an empty journal: see Unfinished.
//
// The first claim of durability, a Flush or a record in the journal, first makes durable what the log's existence hangs on:
// settleFolder, which the first group of records in the journal tells of: a journal with records proves that it was done.

// begin makes an empty log in a folder that is not there.
func (l *Log) begin(o Options) error {
	if err := l.fs.MkdirAll(l.dir); err != nil {
		return err
	}
	// First, so that no other name is there without it.
	if err := l.writeMetadata(); err != nil {
		return err
	}
	l.journal = &journal{fs: l.fs, name: path.Join(l.dir, journalName), settle: l.settleFolder}
	if err := l.journal.create(); err != nil {
		return err
	}
	first := max(o.LogStart, 0)
	if err := l.createFiles(first, o.Now); err != nil {
		return err
	}
	l.folderDirty = true
	l.start, l.flushed, l.startNoted = first, first, kafka.NoOffset
	l.producers.Reset(first)
	return nil
}

// settleFolder makes durable that there is a log, and whose it is. For the journal, which notes that it was done.
func (l *Log) settleFolder() error {
	if err := l.syncMetadata(); err != nil {
		return err
	}
	if err := l.syncDir(); err != nil {
		return err
	}
	parent := path.Dir(l.dir)
	var err error
	if l.directory != nil && l.directory.dir == parent {
		err = l.directory.names.sync(l.directory)
	} else {
		err = l.fs.SyncDir(parent)
	}
	if err != nil {
		return &vfs.SyncError{Err: err}
	}
	l.folderDirty = false
	return nil
}

// writeMetadata writes partition.metadata, if the topic's id is known. It is durable after settleFolder.
func (l *Log) writeMetadata() error {
	if l.topicID.IsZero() {
		return nil
	}
	f, err := l.fs.OpenFile(path.Join(l.dir, partitionMetadata), os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return fmt.Errorf("write partition metadata: %w", err)
	}
	_, err = f.WriteAt(appendTopicID(nil, l.topicID), 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write partition metadata: %w", err)
	}
	return nil
}

// syncMetadata writes the bytes over themselves first: a process before this one may have met an error of their fsync, see again.go.
func (l *Log) syncMetadata() error {
	f, err := l.fs.OpenFile(path.Join(l.dir, partitionMetadata), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) && l.topicID.IsZero() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sync partition metadata: %w", err)
	}
	defer f.Close()
	if !l.topicID.IsZero() {
		if _, err := f.WriteAt(appendTopicID(nil, l.topicID), 0); err != nil {
			return fmt.Errorf("sync partition metadata: %w", err)
		}
	}
	if err := f.Sync(); err != nil {
		return &vfs.SyncError{Err: err}
	}
	return nil
}

// Unfinished tells whether a folder without a readable partition.metadata is what a crash left of a log of ours that was
// being made: nothing in it was ever flushed, whose it is cannot be known, and a topic of that name may be another by now. Such
// a folder is to be removed. A folder whose journal has records lost its partition.metadata in another way, and one without
// journal is not ours.
func (d *Directory) Unfinished(p PartitionDir) (bool, error) {
	if !p.TopicID.IsZero() || p.Kind != DirCurrent {
		return false, nil
	}
	dir := path.Join(d.dir, p.Name)
	info, err := d.fs.Stat(path.Join(dir, journalName))
	switch {
	case err == nil:
		return info.Size == 0, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	entries, err := d.fs.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if e.Name != partitionMetadata {
			return false, nil
		}
	}
	return true, nil
}
