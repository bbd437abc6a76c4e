package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// TempSuffix is the suffix of a file that WriteFileAtomic had no time to rename. Readers of a folder ignore and may
// remove such files.
const TempSuffix = ".tmp"

// WriteFileAtomic writes a whole small file so that after a crash there is the old one or the new one: write under a
// temporary name, fsync, rename, fsync of the folder. When it returns nil the new file is durable. After an error the
// old one is still there, or the new one whose name may not be durable.
func WriteFileAtomic(fsys FS, name string, data []byte) error {
	if err := ReplaceFile(fsys, name, data); err != nil {
		return err
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, &SyncError{err})
	}
	return nil
}

// ReplaceFile is WriteFileAtomic without its last step: which of the two files a crash leaves is open until the folder is
// synced.
func ReplaceFile(fsys FS, name string, data []byte) error {
	tmp := name + TempSuffix
	if err := writeSynced(fsys, tmp, data); err != nil {
		return fmt.Errorf("write %s: %w", tmp, errors.Join(err, removeIfThere(fsys, tmp)))
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, removeIfThere(fsys, tmp)))
	}
	return nil
}

// SyncError marks the error of an fsync inside a longer operation: it is final, see the package comment.
type SyncError struct{ Err error }

func (e *SyncError) Error() string { return "sync: " + e.Err.Error() }
func (e *SyncError) Unwrap() error { return e.Err }

func writeSynced(fsys FS, name string, data []byte) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		if serr := f.Sync(); serr != nil {
			err = &SyncError{serr}
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func removeIfThere(fsys FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ErrTooLong is the kind of error of ReadFile for a file that is longer than it can be: damage.
var ErrTooLong = errors.New("file is longer than it can be")

// ReadFile reads a whole file of at most limit bytes; ErrTooLong when it has more.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if size > limit {
		return nil, fmt.Errorf("read %s: %d bytes, the limit is %d: %w", name, size, limit, ErrTooLong)
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data[:n], nil
}
