package seglog

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

var (
	modelSeeds = flag.Int("seeds", 60, "worlds that the log is compared with the model in")
	modelFirst = flag.Uint64("first", 0, "first seed")
)

// model is the naive log: records in a slice.
type model struct {
	batches    []modelBatch
	start, end kafka.Offset

	durable      kafka.Offset // everything below was flushed
	durableStart kafka.Offset
	checkpoint   kafka.Offset // recovery point as written some time ago
}

type modelBatch struct {
	first, next kafka.Offset
	epoch       kafka.LeaderEpoch
	ts          []kafka.Timestamp
	values      []string
}

func (m *model) dump() string {
	var out strings.Builder
	for _, b := range m.batches {
		for i, v := range b.values {
			if at := b.first + kafka.Offset(i); at >= m.start {
				fmt.Fprintf(&out, "%d =%s\n", at, v)
			}
		}
	}
	return out.String()
}

func (m *model) truncate(off kafka.Offset) {
	m.end = off
	for len(m.batches) > 0 && m.batches[len(m.batches)-1].next > off {
		m.end = min(off, m.batches[len(m.batches)-1].first)
		m.batches = m.batches[:len(m.batches)-1]
	}
	m.durable, m.durableStart = min(m.durable, m.end), min(m.durableStart, m.end)
	m.start = min(m.start, m.end)
}

func (m *model) byTime(ts kafka.Timestamp, limit kafka.Offset) (kafka.Offset, bool) {
	for _, b := range m.batches {
		for i, t := range b.ts {
			if at := b.first + kafka.Offset(i); at >= m.start && at < limit && t >= ts {
				return at, true
			}
		}
	}
	return 0, false
}

func (m *model) maxTime(limit kafka.Offset) (at kafka.Offset, ts kafka.Timestamp, ok bool) {
	ts = -1
	for _, b := range m.batches {
		for i, t := range b.ts {
			if o := b.first + kafka.Offset(i); o >= m.start && o < limit && t > ts {
				at, ts, ok = o, t, true
			}
		}
	}
	return at, ts, ok
}

// world is a log beside its model.
type world struct {
	t     testing.TB
	rnd   *rand.Rand
	fs    *vfs.Mem
	files *FilePool
	l     *Log
	m     model
	epoch kafka.LeaderEpoch
	n     int
	trace []string

	flush  *PendingFlush // begun and not committed
	synced bool
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", strings.Join(w.trace, "\n"), fmt.Sprintf(format, args...))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.fatalf("%v", err)
	}
}

func (w *world) open(clean bool) {
	w.t.Helper()
	c := small()
	c.RetentionBytes = 3000
	var r RecoveryReport
	var err error
	w.l, r, err = Open(w.fs, "data/t-0", Options{
		Config: c, Now: now0, TopicID: topic, Clean: clean, RecoveryPoint: w.m.checkpoint, LogStart: 0, Files: w.files,
	})
	w.trace = append(w.trace, fmt.Sprintf("  opened: %+v", r))
	w.must(err)
	if clean && r.Scanned {
		w.fatalf("scanned after a clean stop")
	}
}

func (w *world) append() {
	var data []byte
	var batches []modelBatch
	at := w.m.end
	for range 1 + w.rnd.IntN(3) {
		b := modelBatch{first: at, epoch: w.epoch}
		spec := batchSpec{at: at, epoch: w.epoch, ts: now0 + kafka.Timestamp(w.rnd.IntN(10_000))}
		for i := range 1 + w.rnd.IntN(4) {
			w.n++
			v := fmt.Sprintf("v%d%s", w.n, strings.Repeat("x", w.rnd.IntN(80)))
			spec.values = append(spec.values, v)
			b.values, b.ts = append(b.values, v), append(b.ts, spec.ts+kafka.Timestamp(i))
		}
		at += kafka.Offset(len(b.values))
		b.next = at
		data = append(data, spec.build(w.t)...)
		batches = append(batches, b)
	}
	err := w.l.Append(data, now0)
	if err != nil && !vfs.IsFull(err) {
		w.fatalf("append: %v", err)
	}
	for _, b := range batches {
		if err == nil || b.next <= w.l.EndOffset() {
			w.m.batches, w.m.end = append(w.m.batches, b), b.next
		}
	}
}

// recovered compares the log after a crash with what may have survived.
func (w *world) recovered() {
	start, end := w.l.StartOffset(), w.l.EndOffset()
	if end < w.m.durable || end > w.m.end {
		w.fatalf("after a crash the log ends at %d, want it in [%d, %d]", end, w.m.durable, w.m.end)
	}
	if start < w.m.durableStart || start > w.m.start {
		w.fatalf("after a crash the log starts at %d, want it in [%d, %d]", start, w.m.durableStart, w.m.start)
	}
	w.m.start = start
	w.m.truncate(end)
	w.m.end, w.m.start = end, start
	if start == end { // what was not flushed may be lost, but the start that was answered is not
		w.m.batches = nil
	}
	w.m.durable = min(w.m.durable, end)
}

func (w *world) check() {
	w.t.Helper()
	if w.l.StartOffset() != w.m.start || w.l.EndOffset() != w.m.end {
		w.fatalf("log is [%d, %d), want [%d, %d)", w.l.StartOffset(), w.l.EndOffset(), w.m.start, w.m.end)
	}
	if got, want := readAll(w.t, w.l), w.m.dump(); got != want {
		w.fatalf("read\n%s\nwant\n%s", got, want)
	}
	for range 3 {
		ts := now0 + kafka.Timestamp(w.rnd.IntN(10_000))
		limit := w.m.start + kafka.Offset(w.rnd.Int64N(int64(w.m.end-w.m.start)+1))
		got, ok, err := w.l.OffsetForTimestamp(ts, limit)
		w.must(err)
		if want, found := w.m.byTime(ts, limit); ok != found || ok && got.Offset != want {
			w.fatalf("timestamp %d below %d is at %d %v, want %d %v", ts-now0, limit, got.Offset, ok, want, found)
		}
		got, ok, err = w.l.MaxTimestamp(limit)
		w.must(err)
		if at, ts, found := w.m.maxTime(limit); ok != found || ok && (got.Offset != at || got.Timestamp != ts) {
			w.fatalf("largest timestamp below %d is %d at %d %v, want %d at %d %v", limit, got.Timestamp-now0, got.Offset, ok, ts-now0, at, found)
		}
	}
	for _, b := range w.m.batches {
		if e, ok := w.l.Epochs().EpochOf(b.first); b.first >= w.m.start && (!ok || e != b.epoch) {
			w.fatalf("epoch of offset %d is %d %v, want %d; history %v", b.first, e, ok, b.epoch, w.l.Epochs().Entries())
		}
	}
	if w.l.Producers().End() != w.m.end {
		w.fatalf("producers end at %d, the log at %d", w.l.Producers().End(), w.m.end)
	}
}

// damage spoils an index file while the log is closed.
func (w *world) damage() {
	list, err := w.fs.ReadDir("data/t-0")
	w.must(err)
	for _, e := range list {
		if ext := path.Ext(e.Name); ext == ".log" || ext == ".metadata" || w.rnd.IntN(2) == 0 || e.Name == journalName && w.rnd.IntN(3) > 0 {
			continue
		}
		name := path.Join("data/t-0", e.Name)
		data, err := vfs.ReadFile(w.fs, name, 1<<20)
		w.must(err)
		what := w.rnd.IntN(4)
		if e.Name == journalName && what == 2 {
			what = 3 // a journal cut between two records looks like an older one
		}
		switch what {
		case 0:
			data = nil
		case 1:
			for i := range data {
				data[i] = byte(w.rnd.Uint32())
			}
		case 2:
			data = data[:len(data)/2]
		}
		w.trace = append(w.trace, fmt.Sprintf("  damage %d to %s", what, e.Name))
		w.must(w.fs.Remove(name))
		if what == 3 {
			continue
		}
		f, err := w.fs.OpenFile(name, os.O_RDWR|os.O_CREATE)
		w.must(err)
		f.WriteAt(data, 0)
		f.Sync()
		f.Close()
	}
	w.must(w.fs.SyncDir("data/t-0"))
}

func (w *world) step() {
	op := w.rnd.IntN(100)
	w.trace = append(w.trace, fmt.Sprintf("op %d on [%d, %d) durable %d", op, w.m.start, w.m.end, w.m.durable))
	switch {
	case op < 45:
		w.append()
	case op < 49:
		w.must(w.l.Flush())
		w.m.durable = w.m.end
	case op < 55:
		w.flushBeside()
	case op < 58:
		w.m.checkpoint = w.l.RecoveryPoint()
	case op < 63:
		to := w.m.start + kafka.Offset(w.rnd.Int64N(int64(w.m.end-w.m.start)+1))
		w.epoch++
		w.must(w.l.TruncateTo(to))
		if to <= w.m.start && to < w.m.end {
			w.m = model{start: to, end: to, durable: to, durableStart: to, checkpoint: w.m.checkpoint}
		} else {
			w.m.truncate(to)
		}
	case op < 67:
		w.m.start += kafka.Offset(w.rnd.Int64N(int64(w.m.end-w.m.start) + 1))
		w.must(w.l.AdvanceStart(w.m.start))
		w.m.durableStart = max(w.m.start, w.m.durableStart)
	case op < 70:
		_, err := w.l.Retain(now0, w.m.end-kafka.Offset(w.rnd.IntN(10)))
		w.must(err)
		w.m.start = w.l.StartOffset()
		w.m.durable = max(w.m.durable, w.l.RecoveryPoint())
	case op < 72:
		w.must(w.l.Roll(now0))
	case op < 74:
		off := w.m.end + kafka.Offset(w.rnd.IntN(30))
		w.must(w.l.TruncateFullyTo(off))
		w.m = model{start: off, end: off, durable: off, durableStart: off, checkpoint: w.m.checkpoint}
	case op < 80:
		w.dropFlush()
		w.must(w.l.Close())
		w.m.durable, w.m.checkpoint = w.m.end, w.l.RecoveryPoint()
		if w.rnd.IntN(2) == 0 {
			w.open(true)
			return
		}
		w.damage()
		w.openDamaged()
	case op < 90:
		w.dropFlush()
		w.l.forgetFiles()
		if w.rnd.IntN(2) == 0 { // otherwise only the process dies, and leaves everything
			w.fs.Crash()
		}
		w.open(false)
		if w.rnd.IntN(3) == 0 { // and again at once
			w.l.forgetFiles()
			w.fs.Crash()
			w.open(false)
		}
		w.recovered()
	case op < 95: // the disk is full for a moment
		w.fs.SetQuota(w.fs.Used() + int64(w.rnd.IntN(400)))
		w.append()
		w.append()
		w.fs.SetQuota(-1)
	default:
		w.check()
	}
}

// flushBeside takes the next step of a flush that has other operations between its steps.
func (w *world) flushBeside() {
	switch {
	case w.flush == nil:
		var err error
		w.flush, err = w.l.BeginFlush()
		w.must(err)
		if w.flush == nil {
			w.m.durable = w.m.end
		}
		w.synced = false
	case !w.synced:
		w.flush.Sync()
		w.synced = true
	default:
		w.must(w.l.CommitFlush(w.flush))
		w.m.durable = max(w.m.durable, w.l.RecoveryPoint())
		w.flush = nil
	}
}

// dropFlush forgets it: the process dies, or closes the log.
func (w *world) dropFlush() {
	if w.flush != nil {
		w.flush.release()
		w.flush = nil
	}
}

// openDamaged opens after a clean stop and damage: the journal may be gone, so a scan is allowed, but nothing is lost.
func (w *world) openDamaged() {
	c := small()
	c.RetentionBytes = 3000
	var r RecoveryReport
	var err error
	w.l, r, err = Open(w.fs, "data/t-0", Options{Config: c, Now: now0, TopicID: topic, Clean: true, RecoveryPoint: w.m.checkpoint, LogStart: w.m.start, Files: w.files})
	w.trace = append(w.trace, fmt.Sprintf("  opened: %+v", r))
	w.must(err)
	w.check()
}

func runWorld(t testing.TB, seed uint64, steps int) {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 2)), fs: vfs.NewMem(seed), files: NewFilePool(5)}
	w.trace = append(w.trace, fmt.Sprintf("seed %d", seed))
	w.must(w.fs.MkdirAll("data"))
	w.must(w.fs.SyncDir("/"))
	w.open(false)
	for range steps {
		w.step()
	}
	w.check()
	w.dropFlush()
	w.must(w.l.Close())
	if n := w.files.Open(); n != 0 {
		w.fatalf("%d files are open after Close", n)
	}
}

func TestLogAgainstModel(t *testing.T) {
	for seed := range uint64(*modelSeeds) {
		runWorld(t, *modelFirst+seed, 120)
	}
}
