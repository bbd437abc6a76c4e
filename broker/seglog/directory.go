package seglog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Names of a directory's own files.
const (
	lockName     = ".lock"
	cleanName    = ".kafka_cleanshutdown"
	metaName     = "meta.properties"
	cleanVersion = 0
)

// Directory is one data directory: its lock, identity, checkpoints, and whether it still works. It may be used by many
// goroutines.
type Directory struct {
	fs   vfs.FS
	dir  string
	lock io.Closer

	meta    MetaProperties
	hasMeta bool
	clean   kafka.BrokerEpoch
	isClean bool

	names nameSync

	mu      sync.Mutex
	offline error // guarded by mu; an OfflineError, final
}

// OpenDirectory locks a directory, which is made if it is missing, and reads who it is. vfs.ErrLocked: another broker
// has it.
func OpenDirectory(fsys vfs.FS, dir string) (*Directory, error) {
	d := &Directory{fs: fsys, dir: path.Clean(dir)}
	if err := d.create(); err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	var err error
	if d.lock, err = fsys.Lock(path.Join(d.dir, lockName)); err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	if err = d.read(); err != nil {
		return nil, fmt.Errorf("open data directory: %w", errors.Join(err, d.lock.Close()))
	}
	return d, nil
}

// create makes the directory, durably.
func (d *Directory) create() error {
	if _, err := d.fs.Stat(d.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.fs.MkdirAll(d.dir); err != nil {
		return err
	}
	return d.fs.SyncDir(path.Dir(d.dir))
}

func (d *Directory) read() error {
	data, err := vfs.ReadFile(d.fs, path.Join(d.dir, metaName), maxSmallFile)
	switch {
	case err == nil:
		if d.meta, err = parseMeta(string(data)); err != nil {
			return &CorruptError{File: path.Join(d.dir, metaName), What: "properties", Err: err}
		}
		d.hasMeta = true
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	data, err = vfs.ReadFile(d.fs, path.Join(d.dir, cleanName), maxSmallFile)
	switch {
	case err == nil:
		d.clean, d.isClean = parseClean(data)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// Path is the directory's name.
func (d *Directory) Path() string { return d.dir }

// Meta is what meta.properties says; ok is false in a directory that is not formatted.
func (d *Directory) Meta() (m MetaProperties, ok bool) { return d.meta, d.hasMeta }

// Format gives an empty directory its identity. A directory has one for its whole life.
func (d *Directory) Format(m MetaProperties) error {
	if d.hasMeta {
		return fmt.Errorf("format %s: it has an identity: cluster %s, node %d, directory %s", d.dir, d.meta.ClusterID, d.meta.NodeID, d.meta.DirectoryID)
	}
	if err := d.write(metaName, m.appendTo(nil)); err != nil {
		return err
	}
	d.meta, d.hasMeta = m, true
	return nil
}

// CleanShutdown tells whether the directory was stopped cleanly before this run, and in which broker epoch: the proof
// of a clean stop at registration (KIP-966). The epoch is kafka.NoBrokerEpoch when the file does not say.
func (d *Directory) CleanShutdown() (epoch kafka.BrokerEpoch, clean bool) { return d.clean, d.isClean }

// ForgetCleanShutdown removes the sign of the clean stop, durably: before the first log of this run is written, so that a
// crash of this run is one. Logs are opened with what CleanShutdown said, which stays.
func (d *Directory) ForgetCleanShutdown() error {
	if err := d.fs.Remove(path.Join(d.dir, cleanName)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("forget clean stop: %w", err)
	}
	if err := d.fs.SyncDir(d.dir); err != nil {
		return d.fault("forget clean stop", &vfs.SyncError{Err: err})
	}
	return nil
}

// DisownCleanShutdown makes CleanShutdown say that there was none: the directory does not hold what was stopped cleanly. It is
// called before others ask.
func (d *Directory) DisownCleanShutdown() { d.clean, d.isClean = kafka.NoBrokerEpoch, false }

type cleanFile struct {
	Version     int   `json:"version"`
	BrokerEpoch int64 `json:"brokerEpoch"`
}

// MarkCleanShutdown says that every log was closed without error, in this broker epoch.
func (d *Directory) MarkCleanShutdown(epoch kafka.BrokerEpoch) error {
	data, err := json.Marshal(cleanFile{cleanVersion, int64(epoch)})
	if err != nil {
		return err
	}
	return d.write(cleanName, data)
}

// parseClean reads the file. One that cannot be read, or is of an older Kafka, still is the sign of a clean stop only if
// it is empty (older) or whole; a torn one is not.
func parseClean(data []byte) (kafka.BrokerEpoch, bool) {
	if len(data) == 0 {
		return kafka.NoBrokerEpoch, true
	}
	c := cleanFile{BrokerEpoch: int64(kafka.NoBrokerEpoch)}
	if err := json.Unmarshal(data, &c); err != nil || c.Version != cleanVersion {
		return kafka.NoBrokerEpoch, false
	}
	return kafka.BrokerEpoch(c.BrokerEpoch), true
}

// write replaces one of the directory's files.
func (d *Directory) write(name string, data []byte) error {
	if err := d.Offline(); err != nil {
		return err
	}
	if err := vfs.WriteFileAtomic(d.fs, path.Join(d.dir, name), data); err != nil {
		return d.fault("write "+name, err)
	}
	return nil
}

// fault takes the directory offline unless the error heals.
func (d *Directory) fault(op string, err error) error {
	if vfs.Heals(err) {
		return err
	}
	failure := &OfflineError{Op: op, Dir: d.dir, Err: err}
	d.fail(failure)
	return failure
}

func (d *Directory) fail(err *OfflineError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.offline == nil {
		d.offline = err
	}
}

// Offline is why the directory can no longer be written, nil while it can. It stays so until the process ends.
func (d *Directory) Offline() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.offline
}

// Confines tells whether an error harms the files of one log and not the directory. When the directory itself is not there,
// because its volume was unmounted, say, a file that is missing in it tells nothing of one log.
func (d *Directory) Confines(err error) bool {
	if !vfs.IsConfined(err) {
		return false
	}
	_, err = d.fs.Stat(path.Join(d.dir, lockName))
	return err == nil
}

// Space is the size of the directory's volume and what is left of it. A broker refuses to append while little is left, and
// goes on reading, deleting and compacting, so that there is room to come back without help.
func (d *Directory) Space() (vfs.Space, error) { return d.fs.Space(d.dir) }

// Close gives the lock back.
func (d *Directory) Close() error { return d.lock.Close() }
