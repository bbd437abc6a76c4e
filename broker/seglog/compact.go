package seglog

import (
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Compaction keeps, of the records with one key, only the newest. Offsets never change and the end of the log never
// moves. Rules, which are Kafka's (LogCleaner):
//
//  1. Cleaned are whole segments: never the active one, nothing at or above upTo (the last stable offset), nothing that
//     is not durable, nothing younger than min.compaction.lag.ms.
//  2. A record goes when a later one of its key is in the dirty part up to which the key map was filled. Records of
//     aborted transactions go at once. Records without a key go.
//  3. A tombstone stays for delete.retention.ms from the first pass that saw it: that pass writes the time when it may
//     go (the delete horizon) into its batch. A marker likewise, from the first pass that found none of its
//     transaction's records left.
//  4. The last batch of every producer still known is kept, emptied if need be, for its sequence number; and the last
//     batch of a pass, for its offset.
//  5. Segments are merged into one as long as their sizes, indexes and offsets fit; it takes the first one's base.
//
// A pass takes long, so it is in parts: StartCompaction and Commit need the partition's lock, Clean does not. What
// happened to the log in between (deleted, truncated) makes Commit drop the work.

// CompactBounds bound one pass.
type CompactBounds struct {
	KeyMapBytes int // memory for keys, 24 bytes each and a third more: log.cleaner.dedupe.buffer.size. 0: 8 MiB
}

const defaultKeyMapBytes = 8 << 20

// Dirtiness is what decides whether a log is worth a pass.
type Dirtiness struct {
	First, Next            kafka.Offset    // the part that can be cleaned now is [First, Next)
	CleanBytes, DirtyBytes int64           // of segments before First, and in the part
	Oldest                 kafka.Timestamp // largest timestamp of the first dirty segment, -1: none: max.compaction.lag.ms
}

// Ratio is the dirty share: what min.cleanable.dirty.ratio is compared with.
func (d Dirtiness) Ratio() float64 {
	if d.DirtyBytes == 0 {
		return 0
	}
	return float64(d.DirtyBytes) / float64(d.CleanBytes+d.DirtyBytes)
}

// CompactReport is what a pass did.
type CompactReport struct {
	First, Next             kafka.Offset // the keys of [First, Next) were looked at
	BytesBefore, BytesAfter int64        // of the segments cleaned
	SegmentsBefore          int
	SegmentsAfter           int
	RecordsBefore           int64
	RecordsAfter            int64
	Complete                bool // the key map took all of the dirty part
}

// compactionState is what a log remembers between passes.
type compactionState struct {
	cleaned kafka.Offset // everything below has passed through a key map; in the journal
	durable kafka.Offset // end of the segments that were ever replaced; in the journal
}

func (c *compactionState) truncated(end kafka.Offset) {
	c.cleaned, c.durable = min(c.cleaned, end), min(c.durable, end)
}

// Dirty tells what a pass could clean now. upTo is the last stable offset.
func (l *Log) Dirty(now kafka.Timestamp, upTo kafka.Offset) (Dirtiness, error) {
	if err := l.usable(); err != nil {
		return Dirtiness{}, err
	}
	c := l.config()
	d := Dirtiness{First: max(l.compaction.cleaned, l.segs[0].base), Oldest: kafka.NoTimestamp}
	d.Next = d.First
	upTo = min(upTo, l.flushed)
	for _, s := range l.segs[:len(l.segs)-1] {
		if s.next > upTo {
			break
		}
		largest, _, err := l.summary(s)
		if err != nil {
			return d, fmt.Errorf("dirty part of log: %w", err)
		}
		if c.MinCompactionLagMs > 0 && int64(now-largest) < c.MinCompactionLagMs {
			break
		}
		if s.next <= d.First {
			d.CleanBytes += s.size
			continue
		}
		d.DirtyBytes += s.size
		d.Next = s.next
		if d.Oldest == kafka.NoTimestamp {
			d.Oldest = largest
		}
	}
	return d, nil
}

// Compaction is one pass over a log. One at a time for each log.
type Compaction struct {
	l        *Log
	now      kafka.Timestamp
	cfg      *Config
	bounds   CompactBounds
	segs     []view // to be cleaned, with a reference to each
	rest     int    // segs[rest:] are not cleaned yet
	dirty    Dirtiness
	keys     *keyMap
	last     map[kafka.ProducerID]lastBatch
	txns     *txnTracker
	cleaned  *cleanedGroup // waits for Commit
	finished bool
	Report   CompactReport
}

// StartCompaction begins a pass, nil when there is nothing to clean. Close it in any case. Under the partition's lock.
func (l *Log) StartCompaction(now kafka.Timestamp, upTo kafka.Offset, b CompactBounds) (*Compaction, error) {
	d, err := l.Dirty(now, upTo)
	if err != nil || d.DirtyBytes == 0 {
		return nil, err
	}
	if b.KeyMapBytes == 0 {
		b.KeyMapBytes = defaultKeyMapBytes
	}
	c := &Compaction{l: l, now: now, cfg: l.config(), bounds: b, dirty: d, last: lastBatches(l.producers)}
	c.Report.First, c.Report.Next = d.First, d.First
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segs {
		if s.base >= d.Next {
			break
		}
		s.refs++
		c.segs = append(c.segs, view{seg: s, size: s.size, next: s.next})
	}
	return c, nil
}

// Close gives the segments back. A part that was cleaned and not committed is dropped.
func (c *Compaction) Close() error {
	for _, v := range c.segs {
		c.l.unref(v.seg)
	}
	c.segs = nil
	if g := c.cleaned; g != nil {
		c.cleaned = nil
		return g.discard()
	}
	return nil
}

// Compact is a whole pass in one call, for callers that need not let the log go on meanwhile.
func (l *Log) Compact(now kafka.Timestamp, upTo kafka.Offset, b CompactBounds) (CompactReport, error) {
	c, err := l.StartCompaction(now, upTo, b)
	if c == nil || err != nil {
		return CompactReport{}, err
	}
	defer func() { _ = c.Close() }() // what it leaves behind is found and removed at the next open
	for {
		more, err := c.Clean()
		if err != nil || !more {
			return c.Report, err
		}
		if err := c.Commit(); err != nil {
			return c.Report, err
		}
	}
}
