package vfs

import (
	"errors"
	"io"
	"io/fs"
	"syscall"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// FS is a file system. Names use the separator "/". All methods may be called by many goroutines at once.
type FS interface {
	// OpenFile opens a file with os.O_ flags; a file that it creates has mode 0644.
	OpenFile(name string, flag int) (File, error)
	// MkdirAll makes a folder and those above it, mode 0755. It is no error when it is there.
	MkdirAll(dir string) error
	// ReadDir lists a folder in the order of names.
	ReadDir(dir string) ([]Entry, error)
	// Stat describes a name; fs.ErrNotExist when it is not there.
	Stat(name string) (Info, error)
	// Rename replaces newName atomically. Both names must be in one folder.
	Rename(oldName, newName string) error
	// Remove removes a file or an empty folder. Open files stay readable and writable.
	Remove(name string) error
	// RemoveAll removes a folder with all that is in it. It is no error when it is not there.
	RemoveAll(name string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(dir string) error
	// Space is the size of the volume of a folder and what is left of it.
	Space(dir string) (Space, error)
	// Lock takes a file as a lock that one process holds until Close or its end; ErrLocked when another holds it.
	Lock(name string) (io.Closer, error)
}

// File is an open file. Reads and writes carry their position: no file has a current one, so that one handle serves
// any number of readers. ReadAt may run beside WriteAt.
type File interface {
	io.ReaderAt
	// WriteAt may write a part and return an error; that part is then in the file.
	io.WriterAt
	io.Closer
	// Truncate sets the size; a larger one is filled with zeros.
	Truncate(size int64) error
	// Sync makes bytes and size durable, but not the file's name. Its errors are final: see the package comment.
	Sync() error
	// Size is the present size in bytes.
	Size() (int64, error)
	// Fd is the descriptor for sendfile, valid until Close; false where there is none.
	Fd() (fd uintptr, ok bool)
}

// Reserver is a File that can set space of the disk aside for itself.
type Reserver interface {
	// Reserve sees to it that writes below size find space, without changing the file's size. A Truncate gives it up.
	Reserve(size int64) error
}

// Entry is a name in a folder.
type Entry struct {
	Name  string
	IsDir bool
	Size  int64 // bytes; 0 for a folder
}

// Space describes a volume, in bytes.
type Space struct {
	Total int64 // its size
	Free  int64 // what this process may still write to it
}

// Info describes a file or folder.
type Info struct {
	Size    int64
	IsDir   bool
	ModTime kafka.Timestamp // time of the last write
}

// ErrLocked is the kind of error of FS.Lock when another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// IsFull tells whether an error means that the disk, or this user's share of it, is full. Such a write may be tried
// again when there is space.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// IsHandleLimit tells whether an error means that the process or the machine has too many files open. It heals when
// some are closed.
func IsHandleLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// IsConfined tells whether an error harms what it names and nothing else: a file or folder that is missing, closed to this
// process, of another kind, or cannot be read. A disk that does not write or sync is not to be trusted with any file.
func IsConfined(err error) bool {
	for _, kind := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP} {
		if errors.Is(err, kind) {
			return true
		}
	}
	var p *fs.PathError
	return errors.As(err, &p) && p.Op == OpRead.String()
}

// Heals tells whether what failed may be tried again when there is space or a handle. An fsync that found no space lost
// what it should have written, and heals never; one that lacked the handle of its folder has not begun.
func Heals(err error) bool {
	var sync *SyncError
	return IsHandleLimit(err) || IsFull(err) && !errors.As(err, &sync)
}
