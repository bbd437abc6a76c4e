package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// PartitionDir is a partition's folder in a data directory.
type PartitionDir struct {
	Name string // of the folder, without the directory's
	kafka.TopicPartition
	TopicID kafka.TopicID // zero when partition.metadata is missing or damaged
	Kind    DirKind
	// Err is why partition.metadata could not be read, though it may be there and whole. The folder is to be left alone.
	Err error
}

// DirKind tells what a partition's folder is for, from the end of its name.
type DirKind string

// The kinds. Their folders are named topic-partition.UNIQUE-KIND, where UNIQUE is 32 characters.
const (
	DirCurrent DirKind = ""       // topic-partition
	DirDelete  DirKind = "delete" // to be removed
	DirFuture  DirKind = "future" // to become current when it has caught up
	DirStray   DirKind = "stray"  // not of this broker any more; kept for people to look at
)

// maxDirName is the length of names that file systems take.
const maxDirName = 255

// Partitions lists the folders of partitions in a directory, in the order of their names. looked is called after each; it may be nil.
func (d *Directory) Partitions(looked func()) ([]PartitionDir, error) {
	entries, err := d.fs.ReadDir(d.dir)
	if err != nil {
		return nil, err
	}
	var out []PartitionDir
	for _, e := range entries {
		if !e.IsDir {
			continue
		}
		p, ok := ParseDirName(e.Name)
		if !ok {
			continue
		}
		p.TopicID, err = ReadTopicID(d.fs, path.Join(d.dir, e.Name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt) {
			p.Err = err
		}
		out = append(out, p)
		if looked != nil {
			looked()
		}
	}
	return out, nil
}

// ParseDirName reads the name of a partition's folder.
func ParseDirName(name string) (PartitionDir, bool) {
	p := PartitionDir{Name: name}
	for _, kind := range []DirKind{DirDelete, DirFuture, DirStray} {
		if rest, ok := strings.CutSuffix(name, "-"+string(kind)); ok {
			if dot := strings.LastIndexByte(rest, '.'); dot >= 0 && len(rest)-dot-1 == 32 {
				p.Kind, name = kind, rest[:dot]
				break
			}
		}
	}
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 {
		return p, false
	}
	n, err := strconv.ParseInt(name[dash+1:], 10, 32)
	if err != nil || n < 0 || name[dash+1:] != strconv.FormatInt(n, 10) {
		return p, false
	}
	p.Topic, p.Partition = name[:dash], int32(n)
	return p, true
}

// DirName is the name of a partition's folder of a kind other than current. unique makes it so, 32 characters of
// letters and digits; a long topic is cut so that the name stays within what file systems take.
func DirName(tp kafka.TopicPartition, kind DirKind, unique string) string {
	suffix := "-" + strconv.FormatInt(int64(tp.Partition), 10) + "." + unique + "-" + string(kind)
	topic := tp.Topic
	if len(topic)+len(suffix) > maxDirName {
		topic = topic[:maxDirName-len(suffix)]
	}
	return topic + suffix
}

// RenamePartition gives a partition's folder another name, durably. Its log must be closed; only names in the same
// directory.
func (d *Directory) RenamePartition(from, to string) error {
	if err := d.Offline(); err != nil {
		return err
	}
	if err := d.fs.Rename(path.Join(d.dir, from), path.Join(d.dir, to)); err != nil {
		return d.faultOf("rename partition folder", err)
	}
	if err := d.fs.SyncDir(d.dir); err != nil {
		return d.fault("rename partition folder", &vfs.SyncError{Err: err})
	}
	return nil
}

// RemovePartition removes a folder with all that is in it.
func (d *Directory) RemovePartition(name string) error {
	if err := d.Offline(); err != nil {
		return err
	}
	if err := d.fs.RemoveAll(path.Join(d.dir, name)); err != nil {
		return d.faultOf("remove partition folder", err)
	}
	return nil
}

// faultOf is fault for an operation on one partition's folder: one that is gone or closed to us is its own trouble.
func (d *Directory) faultOf(op string, err error) error {
	if d.Confines(err) {
		return fmt.Errorf("%s: %w", op, err)
	}
	return d.fault(op, err)
}
