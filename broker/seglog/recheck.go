package seglog

import (
	"errors"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// recheckBytes is how much of a log's end, before the recovery point, is checked again after an unclean stop. What was
// fsynced should be whole, but whatever stopped the broker may have spoiled it too: a disk that lost its write cache, a
// controller that tore a sector, a file system that was repaired. Such damage lies where the disk was last written, and
// each log's share of that is its end. The bound keeps a start after a crash independent of what is stored: 10,000 logs
// read 10 GB, one megabyte more than a batch of default size each. The batch that the bound falls into is checked whole,
// so the last batch always is. Damage further back is found by whoever reads it: see the package comment.
const recheckBytes = 1 << 20

// recheck checks the batches before the recovery point in the last recheckBytes of the log; those behind it were
// checked. When one is damaged, its segment is not believed any more and is checked from its beginning, which cuts the
// log at the damage. It returns the recovery point that holds then.
func (l *Log) recheck(point kafka.Offset, trustGaps bool, r *RecoveryReport) (kafka.Offset, error) {
	first, left := len(l.segs)-1, int64(recheckBytes)
	for ; first > 0 && l.segs[first].size < left; first-- {
		left -= l.segs[first].size
	}
	from := max(0, l.segs[first].size-left)
	for _, s := range l.segs[first:] {
		err := l.recheckSegment(s, from, point, r)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return point, err
		}
		if err != nil {
			s.idx, s.hasSeal = nil, false
			return s.base, l.check(s.base, trustGaps, r)
		}
		from = 0
	}
	return point, nil
}

// recheckSegment checks the batches of a segment from a position on up to the recovery point, or to where its seal ends.
func (l *Log) recheckSegment(s *segment, from int64, point kafka.Offset, r *RecoveryReport) error {
	if s.hasSeal {
		point = max(point, s.sealed.next)
	}
	if from >= s.size || s.base >= point {
		return nil
	}
	h, err := l.open(s, logFile)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	start := place{0, kafka.NoOffset}
	if from > 0 {
		x, err := l.indexesOf(s)
		if err != nil {
			return err
		}
		start, err = l.floor(s, x.offsets, func(_ kafka.Offset, position int64) bool { return position <= from })
		if err != nil {
			return err
		}
	}
	sc, buf := l.scanAt(view{seg: s, size: s.size, next: s.next}, h, start, make([]byte, scanBlock)), make([]byte, scanBlock)
	for {
		header, at, err := sc.next()
		switch {
		case isEnd(err) || err == nil && header.NextOffset() > point:
			return nil
		case err != nil:
			return err
		}
		sealed := kafka.NoOffset
		if s.hasSeal {
			sealed = s.sealed.next
		}
		l.witness.see(header, &l.epochs, sealed)
		r.ScannedBytes += int64(header.Size)
		if err := l.readAndCheck(s, h, header, at, buf); err != nil {
			return err
		}
	}
}
