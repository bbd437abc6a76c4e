package seglog

import (
	"fmt"
	"math"
	"os"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// fileKind is one of a segment's files.
type fileKind uint8

const (
	logFile fileKind = iota
	offsetIndexFile
	timeIndexFile
	txnIndexFile
	fileKinds
)

var suffixes = [fileKinds]string{".log", ".index", ".timeindex", ".txnindex"}

// Suffixes of files that a crash may leave behind.
const (
	deletedSuffix  = ".deleted" // Kafka's, to be removed
	cleanedSuffix  = ".cleaned" // compaction or truncation was not finished: to be removed
	swapSuffix     = ".swap"    // compaction was finished: to be put in place
	snapshotSuffix = ".snapshot"
)

func segmentName(dir string, base kafka.Offset, suffix string) string {
	return fmt.Sprintf("%s/%020d%s", dir, base, suffix)
}

// segment is one file of the log and its indexes. A cold one is small: its files are closed and its indexes not loaded.
type segment struct {
	base kafka.Offset

	// Guarded by Log.mu, changed by the writer:
	size      int64        // bytes that readers may see
	next      kafka.Offset // offset after the last batch; of a segment not yet read since the start, the next one's base
	appended  kafka.Timestamp
	largest   kafka.Timestamp // largest timestamp, -1: none
	largestAt kafka.Offset    // last offset of the batch that holds it
	first     kafka.Timestamp // max timestamp of the first batch: segment.ms counts from it, -1: none
	idx       *indexes        // nil: not loaded
	suspect   bool            // idx was found not to agree with the batches
	refs      int             // readers and slices
	retired   bool            // no longer of the log: its pins close with the last reader
	pins      []*handle

	// sealed is the newest seal that holds for this segment; sealed.logBytes == size means that all of it is durable
	// and the fields above are known. Guarded by Log.loadMu and the writer.
	sealed  seal
	hasSeal bool

	files [fileKinds]lazyFile // guarded by the FilePool
}

// indexes are a segment's loaded indexes. Guarded by Log.mu, changed by the writer (and once by loading).
type indexes struct {
	offsets, times, txns entries
	lastTime             kafka.Timestamp // of the last entry of times
	sinceEntry           int             // bytes of log since the last entry of offsets
	txnsStale            bool            // during recovery: txns must be made anew
}

// maxRelative is the largest offset relative to a segment's base that its indexes can hold.
const maxRelative = math.MaxInt32

func newIndexes() *indexes {
	return &indexes{
		offsets: entries{width: offsetEntryBytes}, times: entries{width: timeEntryBytes}, txns: entries{width: txnEntryBytes},
		lastTime: kafka.NoTimestamp,
	}
}

// known tells whether largest, largestAt, first and next are those of the batches.
func (s *segment) known() bool { return s.idx != nil || s.size == 0 || s.complete() }

// complete tells whether the seal is of the whole segment, so that nothing of it is left to seal.
func (s *segment) complete() bool { return s.hasSeal && s.sealed.logBytes == s.size }

func newSegment(base kafka.Offset) *segment {
	return &segment{base: base, next: base, largest: kafka.NoTimestamp, largestAt: kafka.NoOffset, first: kafka.NoTimestamp}
}

// applySeal takes over what a seal says of the whole segment.
func (s *segment) applySeal(v seal) {
	s.next, s.largest, s.largestAt, s.first, s.appended = v.next, v.largest, v.largestAt, v.first, v.appended
}

// makeSeal is the seal of the segment as it is now. The indexes are loaded and their tails written.
func (s *segment) makeSeal() seal {
	x := s.idx
	sumOf := func(e *entries) sum { return sum{uint32(e.bytes()), e.crc} }
	return seal{
		base: s.base, next: s.next, logBytes: s.size, largest: s.largest, largestAt: s.largestAt, first: s.first, appended: s.appended,
		offsets: sumOf(&x.offsets), times: sumOf(&x.times), txns: sumOf(&x.txns), sinceEntry: uint32(x.sinceEntry),
	}
}

// note takes a batch into the indexes and the segment's summary, as Kafka does: an entry for the batch is made when
// more than interval bytes were appended since the last one, and never for the first batch.
func (s *segment) note(h batchSpan, interval int) {
	x := s.idx
	if s.first == kafka.NoTimestamp {
		s.first = h.maxTimestamp
	}
	if h.maxTimestamp > s.largest {
		s.largest, s.largestAt = h.maxTimestamp, h.last
	}
	if x.sinceEntry > interval {
		var b [offsetEntryBytes]byte
		x.offsets.add(appendOffsetEntry(b[:0], int32(h.last-s.base), h.position))
		s.noteTime()
		x.sinceEntry = 0
	}
	x.sinceEntry += h.size
	s.next = h.last + 1
}

// noteTime adds the largest timestamp to the time index if it has grown.
func (s *segment) noteTime() {
	x := s.idx
	if s.largest > x.lastTime {
		var b [timeEntryBytes]byte
		x.times.add(appendTimeEntry(b[:0], s.largest, int32(s.largestAt-s.base)))
		x.lastTime = s.largest
	}
}

// batchSpan is what indexes need to know of a batch.
type batchSpan struct {
	last         kafka.Offset
	maxTimestamp kafka.Timestamp
	position     int64
	size         int
}

// open gives a file of the segment, opened if need be; release it with l.files.release. It is created when missing.
func (l *Log) open(s *segment, k fileKind) (*handle, error) {
	return l.files.acquire(&s.files[k], func() (vfs.File, error) {
		flag := os.O_RDWR
		if k != logFile {
			flag |= os.O_CREATE
		}
		f, err := l.fs.OpenFile(segmentName(l.dir, s.base, suffixes[k]), flag)
		if err != nil {
			return nil, fmt.Errorf("open segment: %w", err)
		}
		return f, nil
	})
}

// writeTails writes the tails of the loaded indexes of a segment to their files. On an error they stay in memory.
func (l *Log) writeTails(s *segment, force bool) error {
	x := s.idx
	for k, e := range inOrder(x) {
		if len(e.tail) == 0 || !force && len(e.tail) < tailEntries*e.width {
			continue
		}
		h, err := l.open(s, offsetIndexFile+fileKind(k))
		if err != nil {
			return err
		}
		_, err = h.file.WriteAt(e.tail, int64(e.written*e.width))
		l.files.release(h)
		if err != nil {
			return fmt.Errorf("write index: %w", err)
		}
		l.mu.Lock()
		e.written += len(e.tail) / e.width
		e.tail = nil
		l.mu.Unlock()
	}
	return nil
}

// inOrder lists the indexes in the order of their file kinds.
func inOrder(x *indexes) [3]*entries { return [3]*entries{&x.offsets, &x.times, &x.txns} }
