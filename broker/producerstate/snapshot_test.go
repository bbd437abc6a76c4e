package producerstate_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
)

func crcOf(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func sealed(b []byte) []byte {
	b = bytes.Clone(b)
	binary.BigEndian.PutUint32(b[2:], crcOf(b[6:]))
	return b
}

// kafkaPart is what Kafka writes and reads, worked out from its schema: version, CRC, count, then 46 bytes for each.
func kafkaPart(entries string, n int) []byte {
	raw, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(entries))
	if err != nil || len(raw) != 46*n {
		panic("entries are not of 46 bytes")
	}
	out := []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, byte(n)}
	return sealed(append(out, raw...))
}

const twoEntries = `
	0000000000000007 0002 00000009 0000000000000004 00000001 0000000000000005 ffffffff ffffffffffffffff
	0000000000000008 0000 ffffffff ffffffffffffffff 00000000 0000000000000006 00000003 ffffffffffffffff
	0000000000000009 0001 00000000 0000000000000002 00000000 0000000000000005 ffffffff 0000000000000002`

func TestKafkasSnapshotIsRead(t *testing.T) {
	s := producerstate.New(0, producerstate.Options{})
	if err := s.LoadSnapshot(kafkaPart(twoEntries, 3), 5, 777); err != nil {
		t.Fatal(err)
	}
	want := []producerstate.Producer{
		{ID: 7, Epoch: 2, LastSequence: 9, LastOffset: 4, LastTimestamp: 5, Appended: 777, CoordinatorEpoch: -1, TxnFirst: -1},
		{ID: 8, LastSequence: -1, LastOffset: -1, LastTimestamp: 6, Appended: 777, CoordinatorEpoch: 3, TxnFirst: -1},
		{ID: 9, Epoch: 1, LastOffset: 2, LastTimestamp: 5, Appended: 777, CoordinatorEpoch: -1, TxnFirst: 2},
	}
	for i, got := range s.Producers() {
		if got != want[i] {
			t.Errorf("producer %+v, want %+v", got, want[i])
		}
	}
	if s.Len() != 3 || s.End() != 5 || s.LastStable(5) != 2 {
		t.Errorf("%d producers, end %d, last stable %d", s.Len(), s.End(), s.LastStable(5))
	}
	l := &log{t: t, s: s}
	l.want("the last batch again", batch(7, 2, 8, 2, false), 3, kafka.None)
	l.want("next", batch(7, 2, 10, 1, false), 5, kafka.None)

	// What we write starts with the same bytes as Kafka's, but for the CRC, which covers our part too.
	if err := s.LoadSnapshot(kafkaPart(twoEntries, 3), 5, 777); err != nil {
		t.Fatal(err)
	}
	ours, theirs := s.AppendSnapshot(nil), kafkaPart(twoEntries, 3)
	if !bytes.Equal(ours[6:len(theirs)], theirs[6:]) || binary.BigEndian.Uint32(ours[2:]) != crcOf(ours[6:]) {
		t.Errorf("snapshot\n%x, want it to start like\n%x", ours, theirs)
	}
}

func TestFiveBatchesAreRememberedAcrossARestart(t *testing.T) {
	l := newLog(t)
	for seq := range int32(10) {
		l.want("new", batch(7, 0, seq, 1, false), kafka.Offset(seq), kafka.None)
	}
	again := newLog(t)
	if err := again.s.LoadSnapshot(l.s.AppendSnapshot(nil), 10, 5000); err != nil {
		t.Fatal(err)
	}
	for seq := int32(5); seq < 10; seq++ {
		again.want("retry after the restart", batch(7, 0, seq, 1, false), kafka.Offset(seq), kafka.None)
	}
	again.want("next", batch(7, 0, 10, 1, false), 10, kafka.None)
	if p, _ := again.s.Producer(7); p.ID != 7 {
		t.Error("producer 7 is gone")
	}
	// The time of the append survives too, so a restart does not keep producers longer; nor does a clock that went back.
	if n := again.s.Len(); n != 1 {
		t.Fatalf("%d producers", n)
	}
	fresh := newLog(t)
	_ = fresh.s.LoadSnapshot(l.s.AppendSnapshot(nil), 10, 400)
	if p, _ := fresh.s.Producer(7); p.Appended != 400 {
		t.Errorf("appended at %d by a clock that reads 400 now, want 400", p.Appended)
	}
	_ = fresh.s.LoadSnapshot(l.s.AppendSnapshot(nil), 10, 5000)
	if p, _ := fresh.s.Producer(7); p.Appended != 1000 {
		t.Errorf("appended at %d, want 1000", p.Appended)
	}
}

func TestUnreplicatedMarkersAreRememberedAcrossARestart(t *testing.T) {
	l := newLog(t)
	l.append(batch(7, 0, 0, 1, true))
	l.append(marker(7, 0, false, 0))
	s := producerstate.New(0, producerstate.Options{})
	if err := s.LoadSnapshot(l.s.AppendSnapshot(nil), 2, 5000); err != nil {
		t.Fatal(err)
	}
	if got := s.LastStable(1); got != 0 {
		t.Errorf("last stable offset %d with the marker not replicated, want 0", got)
	}
	if got := s.LastStable(2); got != 2 {
		t.Errorf("last stable offset %d, want 2", got)
	}
}

func TestDamagedSnapshotsAreRefusedAndChangeNothing(t *testing.T) {
	l := newLog(t)
	l.append(batch(7, 0, 0, 1, true))
	l.append(batch(7, 0, 1, 1, true))
	l.append(batch(8, 0, 0, 1, true))
	l.append(marker(8, 0, false, 0))
	good := l.s.AppendSnapshot(nil)
	poke := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return sealed(b)
	}
	tail := 10 + 2*46
	for name, data := range map[string][]byte{
		"nothing":                         nil,
		"cut":                             good[:len(good)-1],
		"one bit":                         append(bytes.Clone(good[:20]), append([]byte{good[20] ^ 1}, good[21:]...)...),
		"version 2":                       poke(0, 0, 2),
		"count beyond the bytes":          poke(6, 0, 0, 1, 0),
		"negative count":                  poke(6, 255, 255, 255, 255),
		"negative producer id":            poke(10, 255),
		"the same producer twice":         poke(10+46, good[10:18]...),
		"last offset beyond the snapshot": poke(10+14, 0, 0, 0, 0, 0, 0, 0, 9),
		"transaction beyond the snapshot": poke(10+46+38, 0, 0, 0, 0, 0, 0, 0, 9),
		"offset delta beyond the offset":  poke(10+22, 0, 0, 0, 9),
		"cut and sealed anew":             sealed(good[:len(good)-1]),
		"five older batches":              poke(tail+6+8, 5),
		"older batches that do not rise":  poke(tail+6+9+8+1+4, 0, 0, 0, 0, 0, 0, 0, 9),
		"decided without end":             poke(len(good)-20, 0, 0, 0, 7),
		"decided marker beyond the end":   poke(len(good)-8, 0, 0, 0, 0, 0, 0, 0, 9),
		"decided before it began":         poke(len(good)-16, 0, 0, 0, 0, 0, 0, 0, 3),
		"a few bytes after ours":          sealed(append(bytes.Clone(good), 1, 2, 3)),
	} {
		s := producerstate.New(0, producerstate.Options{})
		s.Update(batch(5, 0, 0, 1, false), 1)
		if err := s.LoadSnapshot(data, 4, 1); !errors.Is(err, producerstate.ErrCorrupt) {
			t.Errorf("%s: error %v, want corrupt", name, err)
		}
		if _, ok := s.Producer(5); !ok || s.Len() != 1 {
			t.Errorf("%s: the state has changed", name)
		}
	}
	if err := l.s.LoadSnapshot(good, 4, 1); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func FuzzLoadSnapshot(f *testing.F) {
	l := newLog(f)
	l.append(batch(7, 0, 0, 1, true))
	l.append(batch(7, 0, 1, 1, true))
	l.append(batch(8, 0, 0, 1, true))
	l.append(marker(8, 0, false, 0))
	f.Add(l.s.AppendSnapshot(nil))
	f.Add(kafkaPart(twoEntries, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 6 {
			data = sealed(data)
		}
		s := producerstate.New(0, producerstate.Options{MaxProducers: 4})
		if err := s.LoadSnapshot(data, 1000, 50); err != nil {
			if !errors.Is(err, producerstate.ErrCorrupt) {
				t.Fatalf("error of an unknown kind: %v", err)
			}
			return
		}
		first := s.AppendSnapshot(nil)
		if err := s.LoadSnapshot(first, 1000, 50); err != nil {
			t.Fatalf("our own snapshot is refused: %v", err)
		}
		if again := s.AppendSnapshot(nil); !bytes.Equal(again, first) {
			t.Fatalf("snapshot %x is written again as %x", first, again)
		}
		for _, p := range s.Producers() {
			b := batch(p.ID, p.Epoch, 0, 1, true)
			b.SetBaseOffset(s.End())
			s.Check(b, producerstate.Client)
			s.Update(b, 60)
			m := marker(p.ID, p.Epoch, true, 0)
			m.SetBaseOffset(s.End())
			s.Update(m, 60)
		}
		s.Expire(1000, 0)
		if s.Len() != 0 && func() bool { _, ok := s.FirstUndecided(); return !ok }() {
			t.Fatalf("%d producers left without an open transaction", s.Len())
		}
	})
}
