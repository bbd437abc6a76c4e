package seglog

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// delete.retention.ms may be as large as it gets: then tombstones stay.
func TestTombstonesThatStayForEver(t *testing.T) {
	for _, retention := range []int64{math.MaxInt64, math.MaxInt64 - int64(now0)} {
		c := compacted()
		c.DeleteRetentionMs = retention
		l, _ := mustOpen(t, vfs.NewMem(1), Options{Config: c})
		keyed(t, l, record.BuilderOptions{}, "k=")
		for n := range 3 { // the first pass finds it, a later one may drop it
			keyed(t, l, record.BuilderOptions{}, fmt.Sprintf("other%d=x", n))
			compactNow(t, l, now0+100*day)
		}
		if got := readAll(t, l); !strings.HasPrefix(got, "0 k=\n") {
			t.Errorf("with delete.retention.ms=%d the log is\n%s", retention, got)
		}
	}
}

// Jitter makes a segment's time shorter, and never nothing: a segment for each batch would be the end of every bound on files.
func TestJitterLeavesASegmentItsTime(t *testing.T) {
	c := compacted()
	c.SegmentMs, c.MaxCompactionLagMs = 1<<40, 1000
	for _, jitter := range []int64{0, 500, 1000, 1 << 39} {
		c.SegmentJitterMs = jitter
		for n := range 20 {
			l := &Log{dir: fmt.Sprint("data/t-", n)}
			if got := l.segmentMs(&c); got <= 0 || got > 1000 || jitter == 0 && got != 1000 {
				t.Errorf("with a jitter of %d ms segments of %s are closed after %d ms, of 1000", jitter, l.dir, got)
			}
		}
	}
}

// Files of ours that are longer than they can be are damaged, and keep no log from opening.
func TestFilesThatAreTooLong(t *testing.T) {
	for _, name := range []string{journalName, epochsName, partitionMetadata} {
		fs, dir := vfs.OS(), t.TempDir()+"/t-0" // where a long file takes no space
		open := func() *Log {
			l, _, err := Open(fs, dir, Options{Config: small(), TopicID: topic, Clean: true, Now: now0})
			must(t, err)
			return l
		}
		l := open()
		fill(t, l, 20, 3)
		want := readAll(t, l)
		must(t, l.Close())
		must(t, os.Truncate(dir+"/"+name, journalMaxSize+1))
		l = open()
		if got := readAll(t, l); got != want {
			t.Errorf("with a long %s the log is\n%s", name, got)
		}
		must(t, l.Append(plain(t, l.EndOffset(), 1, now0), now0))
		must(t, l.Close())
		if size := must2(fs.Stat(dir + "/" + name)).Size; size > 1<<20 {
			t.Errorf("%s is of %d bytes still", name, size)
		}
	}
}

// Segments without seals, such as those that Kafka left, are sealed in groups that the journal can number.
func TestMoreSealsThanAGroupHas(t *testing.T) {
	m := vfs.NewMem(1)
	c := small()
	c.SegmentBytes = 100
	l, _ := mustOpen(t, m, Options{Config: c})
	for range sealGroup + 100 {
		must(t, l.Append(plain(t, l.EndOffset(), 1, now0), now0))
	}
	must(t, l.Close())
	_, r := mustOpen(t, m, Options{Config: c, Clean: true})
	if r.Scanned || r.JournalDamaged {
		t.Errorf("after a clean stop: %+v", r)
	}
	data := must2(vfs.ReadFile(m, "data/t-0/"+journalName, journalMaxSize))
	for at := 0; at < len(data); at += journalRecord {
		if index := binary.BigEndian.Uint16(data[at+6:]); index > sealGroup { // the first also tells that the folder is durable
			t.Fatalf("a group has a record %d", index)
		}
	}
}
