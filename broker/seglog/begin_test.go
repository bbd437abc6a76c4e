package seglog

import (
	"errors"
	"io/fs"
	"path"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// powerCut ends what runs at the start of an operation of the file system.
type powerCut struct{}

// untilCut runs do and ends it at operation n; it tells whether do came to its end before.
func untilCut(m *vfs.Mem, n int, do func()) (whole bool) {
	count := 0
	m.Observe(func(vfs.Op, string, int) {
		if count++; count > n {
			panic(powerCut{})
		}
	})
	defer func() {
		m.Observe(nil)
		if p := recover(); p != nil {
			if _, ok := p.(powerCut); !ok {
				panic(p)
			}
		}
	}()
	do()
	return true
}

// A power cut at every operation from the creation of a log on: what was said to be durable is there, with the folder and
// its topic's id, and never is a start refused or a folder there of which nobody knows whose it is.
func TestACreationThatIsCutLeavesAnEmptyLogOrNone(t *testing.T) {
	steps := map[string]func(*Log) error{
		"flush":         func(l *Log) error { return l.Flush() },
		"advance start": func(l *Log) error { return l.AdvanceStart(2) },
		"start over":    func(l *Log) error { return l.TruncateFullyTo(40) },
		"truncate":      func(l *Log) error { return l.TruncateTo(1) },
		"close":         func(l *Log) error { return l.Close() },
	}
	absent, unfinished, empty, kept := 0, 0, 0, 0
	for name, step := range steps {
		for n, whole := 0, false; !whole; n++ {
			m := vfs.NewMem(uint64(n))
			must(t, m.MkdirAll("data"))
			must(t, m.SyncDir("."))
			start, end := kafka.Offset(0), kafka.Offset(0) // durable
			whole = untilCut(m, n, func() {
				l, r := mustOpen(t, m, Options{})
				if !r.Created {
					t.Fatal("not created")
				}
				must(t, l.Append(plain(t, 0, 2, now0), now0))
				must(t, l.Append(plain(t, 2, 2, now0), now0))
				must(t, step(l))
				switch name {
				case "flush", "close":
					end = 4
				case "advance start":
					start = 2
				case "start over":
					start, end = 40, 40
				}
			})
			for seed := range uint64(12) {
				c := m.CrashClone(seed)
				d, err := OpenDirectory(c, "data")
				must(t, err)
				folders, err := d.Partitions(nil)
				must(t, err)
				if len(folders) == 0 {
					absent++
				}
				for _, f := range folders {
					drop, err := d.Unfinished(f)
					must(t, err)
					if drop {
						unfinished++
						must(t, d.RemovePartition(f.Name))
					} else if f.TopicID != topic {
						t.Fatalf("%s, operation %d, seed %d: a folder of topic %v", name, n, seed, f.TopicID)
					}
				}
				if _, err := c.Stat("data/t-0"); errors.Is(err, fs.ErrNotExist) && (start > 0 || end > 0) {
					t.Fatalf("%s, operation %d, seed %d: the log is gone", name, n, seed)
				}
				l, _ := mustOpen(t, c, Options{Directory: d})
				if l.StartOffset() < start || l.EndOffset() < end || l.EndOffset() < l.StartOffset() {
					t.Fatalf("%s, operation %d, seed %d: the log is [%d, %d), durable were [%d, %d)", name, n, seed, l.StartOffset(), l.EndOffset(), start, end)
				}
				if l.EndOffset() == 0 {
					empty++
				} else {
					kept++
				}
				readAll(t, l)
				at := l.EndOffset()
				must(t, l.Append(plain(t, at, 1, now0), now0))
				must(t, l.Flush())
				c.Crash() // what is acknowledged now is kept whatever the first crash left
				again, _ := mustOpen(t, c, Options{})
				if again.EndOffset() != at+1 || again.TopicID() != topic {
					t.Fatalf("%s, operation %d, seed %d: after a flush and another crash the log ends at %d, not %d", name, n, seed, again.EndOffset(), at+1)
				}
			}
		}
	}
	if absent == 0 || unfinished == 0 || empty == 0 || kept == 0 {
		t.Errorf("%d absent, %d unfinished, %d empty, %d with batches: the test does not reach all", absent, unfinished, empty, kept)
	}
}

func TestACreationWaitsForNoDisk(t *testing.T) {
	m := vfs.NewMem(1)
	must(t, m.MkdirAll("data"))
	count := map[vfs.Op]int{}
	m.Observe(func(op vfs.Op, _ string, _ int) { count[op]++ })
	l, _ := mustOpen(t, m, Options{})
	if count[vfs.OpSync]+count[vfs.OpSyncDir] > 0 || count[vfs.OpOpen] > 5 {
		t.Errorf("%d syncs of files, %d of folders, %d opens", count[vfs.OpSync], count[vfs.OpSyncDir], count[vfs.OpOpen])
	}
	must(t, l.AssignEpoch(3)) // as of one that leads
	clear(count)
	must(t, l.Close())
	if len(count) > 0 {
		t.Errorf("to close it takes %v", count)
	}
	for _, name := range []string{"00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex", partitionMetadata, journalName} {
		if _, err := m.Stat(path.Join("data/t-0", name)); err != nil {
			t.Error(err)
		}
	}
}

// Only what a creation may leave is unfinished: all else may be the only copy.
func TestWhatIsUnfinished(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"empty folder", nil, true},
		{"torn metadata", map[string]string{partitionMetadata: ""}, true},
		{"torn metadata and an empty journal", map[string]string{partitionMetadata: "", journalName: "", "00000000000000000000.log": "batch"}, true},
		{"journal with records", map[string]string{journalName: string(make([]byte, journalRecord)), "00000000000000000000.log": ""}, false},
		{"not ours", map[string]string{"00000000000000000000.log": "batch"}, false},
		{"good metadata", map[string]string{partitionMetadata: string(appendTopicID(nil, topic)), journalName: ""}, false},
	} {
		m := vfs.NewMem(1)
		d, err := OpenDirectory(m, "data")
		must(t, err)
		must(t, m.MkdirAll("data/t-0"))
		for name, text := range test.files {
			must(t, vfs.WriteFileAtomic(m, "data/t-0/"+name, []byte(text)))
		}
		folders, err := d.Partitions(nil)
		must(t, err)
		if got, err := d.Unfinished(folders[0]); err != nil || got != test.want {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
}

// A log of which something was flushed is never unfinished, whatever becomes of its partition.metadata.
func TestAFlushedLogIsNotUnfinished(t *testing.T) {
	m := vfs.NewMem(1)
	d, err := OpenDirectory(m, "data")
	must(t, err)
	l, _ := mustOpen(t, m, Options{Directory: d})
	must(t, l.Append(plain(t, 0, 2, now0), now0))
	must(t, l.Flush())
	must(t, m.Remove("data/t-0/"+partitionMetadata))
	folders, err := d.Partitions(nil)
	must(t, err)
	if unfinished, err := d.Unfinished(folders[0]); err != nil || unfinished {
		t.Errorf("%v, %v", unfinished, err)
	}
}

// Names that were made before a call are durable when it returns, whoever synced.
func TestNameSyncsAreShared(t *testing.T) {
	m := vfs.NewMem(1)
	d, err := OpenDirectory(m, "data")
	must(t, err)
	var wait sync.WaitGroup
	for i := range 64 {
		wait.Go(func() {
			name := path.Join("data", DirName(kafka.TopicPartition{Topic: "t", Partition: int32(i)}, DirStray, "00000000000000000000000000000000"))
			if err := errors.Join(m.MkdirAll(name), d.names.sync(d)); err != nil {
				t.Error(err)
			}
			if _, err := m.CrashClone(uint64(i)).Stat(name); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// The fsyncs of the first flush of a log and of its close. Each is one wait for the disk, times thousands at a stop.
func TestSyncsOfAWrittenLog(t *testing.T) {
	m := vfs.NewMem(1)
	must(t, m.MkdirAll("data"))
	count := 0
	m.Observe(func(op vfs.Op, _ string, _ int) {
		if op == vfs.OpSync || op == vfs.OpSyncDir {
			count++
		}
	})
	syncs := func(what string, want int) {
		t.Helper()
		if count != want {
			t.Errorf("%s: %d syncs, not %d", what, count, want)
		}
		count = 0
	}
	l, _ := mustOpen(t, m, Options{})
	must(t, l.Append(plain(t, 0, 2, now0), now0))
	must(t, l.Flush())
	syncs("first flush", 5) // batches, partition.metadata, folder, data directory, journal
	must(t, l.Append(plain(t, 2, 2, now0), now0))
	must(t, l.Flush())
	syncs("another flush", 1)
	must(t, l.Close())
	syncs("close when all is flushed", 5) // time index, snapshot, epochs, folder, journal
	l, _ = mustOpen(t, m, Options{Clean: true})
	must(t, l.Append(plain(t, 4, 2, now0), now0))
	must(t, l.Close())
	syncs("close when written once more", 6) // batches, two indexes, snapshot, folder, journal
}
