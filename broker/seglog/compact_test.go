package seglog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

func compacted() Config {
	c := small()
	c.Delete, c.Compact = false, true
	return c
}

// keyed appends one batch of records key=value, "key=" being a tombstone.
func keyed(t testing.TB, l *Log, o record.BuilderOptions, records ...string) {
	t.Helper()
	s := batchSpec{at: l.EndOffset(), ts: now0, opts: o}
	for _, r := range records {
		k, v, _ := strings.Cut(r, "=")
		s.keys, s.values = append(s.keys, k), append(s.values, v)
	}
	must(t, l.Append(s.build(t), now0))
}

func marker(t testing.TB, l *Log, id kafka.ProducerID, commit bool) {
	t.Helper()
	b := record.EndTxnMarker{ProducerID: id, ProducerEpoch: 1, Commit: commit, Timestamp: now0}.Batch()
	b.SetBaseOffset(l.EndOffset())
	must(t, l.Append(b, now0))
}

func compactNow(t testing.TB, l *Log, now kafka.Timestamp) CompactReport {
	t.Helper()
	must(t, l.Roll(now))
	must(t, l.Flush())
	r, err := l.Compact(now, l.EndOffset(), CompactBounds{})
	must(t, err)
	return r
}

func TestLifeOfATombstone(t *testing.T) {
	l, _ := mustOpen(t, vfs.NewMem(1), Options{Config: compacted()})
	plainBatch := record.BuilderOptions{}
	keyed(t, l, plainBatch, "k=old", "other=stays")
	keyed(t, l, plainBatch, "k=")
	expect := func(want string) {
		t.Helper()
		if got := readAll(t, l); got != want {
			t.Fatalf("log is\n%swant\n%s", got, want)
		}
	}
	compactNow(t, l, now0)
	expect("1 other=stays\n2 k=\n")
	keyed(t, l, plainBatch, "x=1")
	compactNow(t, l, now0+999)
	expect("1 other=stays\n2 k=\n3 x=1\n")
	keyed(t, l, plainBatch, "x=2")
	compactNow(t, l, now0+1000) // delete.retention.ms after the first pass
	expect("1 other=stays\n4 x=2\n")
	if l.EndOffset() != 5 {
		t.Errorf("the end is %d", l.EndOffset())
	}
}

func TestCompactTransactions(t *testing.T) {
	l, _ := mustOpen(t, vfs.NewMem(1), Options{Config: compacted()})
	txn := func(id kafka.ProducerID) record.BuilderOptions {
		return record.BuilderOptions{Idempotent: true, ProducerID: id, ProducerEpoch: 1, Transactional: true}
	}
	keyed(t, l, record.BuilderOptions{}, "a=1", "b=1")
	keyed(t, l, txn(7), "a=aborted")
	keyed(t, l, txn(8), "b=committed")
	marker(t, l, 7, false)
	marker(t, l, 8, true)
	aborted, err := l.AbortedTransactions(0, l.EndOffset())
	must(t, err)
	if fmt.Sprint(aborted) != "[{7 2 4 3}]" {
		t.Fatalf("aborted %v", aborted)
	}
	compactNow(t, l, now0)
	if got := readAll(t, l); got != "0 a=1\n3 b=committed\n4 control\n5 control\n" {
		t.Fatalf("after the first pass\n%s", got)
	}
	aborted, err = l.AbortedTransactions(0, l.EndOffset())
	must(t, err)
	if len(aborted) != 1 {
		t.Fatalf("the index forgot the transaction in the pass that removed its records: %v", aborted)
	}
	keyed(t, l, record.BuilderOptions{}, "b=2")
	compactNow(t, l, now0+1) // the abort marker has no data any more: gets a horizon
	keyed(t, l, record.BuilderOptions{}, "c=2")
	compactNow(t, l, now0+5_000) // and goes
	keyed(t, l, record.BuilderOptions{}, "d=2")
	compactNow(t, l, now0+9_000)
	want := "0 a=1\n6 b=2\n7 c=2\n8 d=2\n"
	if got := strings.ReplaceAll(strings.ReplaceAll(readAll(t, l), "4 control\n", ""), "5 control\n", ""); got != want {
		t.Fatalf("after all passes\n%s", got)
	}
	// The producers' last batches are there, emptied.
	found := map[kafka.ProducerID]kafka.Offset{}
	must(t, l.eachBatch(l.segs, 0, l.EndOffset(), func(b record.Batch) error {
		if b.HasProducer() && !b.IsControl() {
			found[b.ProducerID()] = b.LastOffset()
			if b.Count() != 0 {
				t.Errorf("batch at %d has %d records", b.BaseOffset(), b.Count())
			}
		}
		return nil
	}))
	if fmt.Sprint(found) != "map[7:2 8:3]" {
		t.Errorf("last batches of producers: %v", found)
	}
}

// fold is what a compacted log amounts to.
func fold(dump string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(dump) {
		_, kv, _ := strings.Cut(strings.TrimSpace(line), " ")
		if k, v, ok := strings.Cut(kv, "="); ok {
			if v == "" {
				delete(m, k)
			} else {
				m[k] = v
			}
		}
	}
	return m
}

// Random keys under passes with small key maps, crashes, and faults at every kind of operation.
func TestCompactAgainstFold(t *testing.T) {
	for seed := range uint64(*modelSeeds) {
		seed += *modelFirst
		rnd := rand.New(rand.NewPCG(seed, 3))
		fs := vfs.NewMem(seed)
		must(t, fs.MkdirAll("data"))
		must(t, fs.SyncDir(""))
		c := compacted()
		c.DeleteRetentionMs = int64(rnd.IntN(3000))
		now := now0
		files := NewFilePool(4)
		l, report := mustOpen(t, fs, Options{Config: c, Files: files})
		want := map[string]string{}
		written := map[string]bool{}
		var point kafka.Offset
		for range 60 {
			now += 500
			switch op := rnd.IntN(10); {
			case op < 6:
				var recs []string
				for range 1 + rnd.IntN(5) {
					k, v := fmt.Sprintf("k%d", rnd.IntN(12)), fmt.Sprintf("v%d", rnd.IntN(1000))
					if rnd.IntN(4) == 0 {
						v = ""
						delete(want, k)
					} else {
						want[k] = v
					}
					written[fmt.Sprintf("%d %s=%s", int(l.EndOffset())+len(recs), k, v)] = true
					recs = append(recs, k+"="+v)
				}
				keyed(t, l, record.BuilderOptions{Codec: record.Codec(rnd.IntN(5))}, recs...)
				must(t, l.Flush())
				point = l.RecoveryPoint()
			case op == 6:
				must(t, l.Roll(now))
				must(t, l.Flush())
			default:
				end := l.EndOffset()
				broken := rnd.IntN(2) == 0
				remove := func() {}
				lost := false
				if broken {
					ops := []vfs.Op{vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpRemove, vfs.OpSyncDir, vfs.OpOpen}
					op := ops[rnd.IntN(len(ops))]
					lost = op == vfs.OpSync // pages of a failed fsync look written and are not: only a crash tells
					remove = fs.Inject(vfs.Fault{Op: op, Err: syscall.EIO, Skip: rnd.IntN(12)})
				}
				s, err := l.Read(ReadRequest{From: l.StartOffset(), Limit: end, MaxBytes: 4000, AtLeastOneBatch: true})
				var before []byte
				if err == nil {
					before, err = s.Bytes()
				}
				if err != nil && !broken {
					t.Fatalf("seed %d: %v", seed, err)
				}
				_, cerr := l.Compact(now, end, CompactBounds{KeyMapBytes: rnd.IntN(3) * 100_000})
				if cerr != nil && !broken {
					t.Fatalf("seed %d: %v", seed, cerr)
				}
				if err == nil {
					if after, err := s.Bytes(); err != nil || string(after) != string(before) {
						t.Fatalf("seed %d: a slice changed under compaction: %v", seed, err)
					}
				}
				s.Release()
				remove()
				if broken || rnd.IntN(3) == 0 {
					l.forgetFiles()
					if lost || rnd.IntN(2) == 0 {
						fs.Crash()
					}
					l, report = mustOpen(t, fs, Options{Config: c, RecoveryPoint: point, Files: files})
				}
				if l.EndOffset() != end {
					t.Fatalf("seed %d: the end moved from %d to %d: %+v %v", seed, end, l.EndOffset(), report, cerr)
				}
			}
			got := readAll(t, l)
			if m := fold(got); !maps.Equal(m, want) {
				t.Fatalf("seed %d: the log amounts to\n%v want\n%v", seed, m, want)
			}
			for line := range strings.Lines(got) {
				if !written[strings.TrimSpace(line)] {
					t.Fatalf("seed %d: %q was never written", seed, line)
				}
			}
		}
	}
}

func TestKeyMap(t *testing.T) {
	m := newKeyMap(100_000)
	want := map[string]kafka.Offset{}
	rnd := rand.New(rand.NewPCG(1, 1))
	for at := range kafka.Offset(20_000) {
		k := fmt.Sprint(rnd.IntN(3000))
		if m.full(1) {
			break
		}
		m.put([]byte(k), at)
		want[k] = at
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got := m.get([]byte(k)); got != want[k] {
			t.Fatalf("key %s is at %d, want %d", k, got, want[k])
		}
	}
	if m.get([]byte("none")) != kafka.NoOffset {
		t.Error("a key that was never put was found")
	}
	if len(m.slots)*keySlotBytes > 100_000 {
		t.Errorf("%d slots", len(m.slots))
	}
}
