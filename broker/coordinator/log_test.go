package coordinator

import (
	"errors"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// memLog is one partition's log in memory, as its leader sees it. Appends are committed at once unless held.
type memLog struct {
	mu      sync.Mutex
	epoch   kafka.LeaderEpoch
	batches []record.Batch
	start   kafka.Offset
	hw, end kafka.Offset
	hold    bool
	refuse  kafka.ErrorCode // next appends are refused so, unwritten
	unknown kafka.ErrorCode // next appends are written and answered so
	waiting []appendWait
	readErr error
	reads   int
	gate    chan struct{} // if not nil, each read takes one token
}

type appendWait struct {
	base, next kafka.Offset
	done       func(AppendResult)
}

func (l *memLog) Append(epoch kafka.LeaderEpoch, b record.Batch, done func(AppendResult)) {
	l.mu.Lock()
	switch {
	case epoch != l.epoch:
		l.mu.Unlock()
		done(AppendResult{Code: kafka.NotLeaderOrFollower, BaseOffset: kafka.NoOffset})
		return
	case l.refuse != kafka.None:
		code := l.refuse
		l.mu.Unlock()
		done(AppendResult{Code: code, BaseOffset: kafka.NoOffset})
		return
	}
	b = slices.Clone(b)
	b.SetBaseOffset(l.end)
	b.SetLeaderEpoch(epoch)
	base := l.end
	l.batches = append(l.batches, b)
	l.end = b.NextOffset()
	if l.unknown != kafka.None {
		code := l.unknown
		l.mu.Unlock()
		done(AppendResult{Code: code, BaseOffset: kafka.NoOffset})
		return
	}
	l.waiting = append(l.waiting, appendWait{base, l.end, done})
	l.mu.Unlock()
	if !l.hold {
		l.commit()
	}
}

// commit moves the high watermark to the end.
func (l *memLog) commit() {
	l.mu.Lock()
	l.hw = l.end
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, w := range waiting {
		w.done(AppendResult{BaseOffset: w.base})
	}
}

// depose ends the leadership: what waits is answered, and its fate is open.
func (l *memLog) depose(next kafka.LeaderEpoch) {
	l.mu.Lock()
	l.epoch = next
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, w := range waiting {
		w.done(AppendResult{Code: kafka.NotLeaderOrFollower, BaseOffset: kafka.NoOffset})
	}
}

var errDamage = errors.New("damage")

func (l *memLog) Read(from kafka.Offset, buf []byte) ([]byte, error) {
	if l.gate != nil {
		<-l.gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.readErr != nil {
		return nil, l.readErr
	}
	out := buf[:0]
	for _, b := range l.batches {
		if b.NextOffset() <= from || b.BaseOffset() < l.start {
			continue
		}
		if b.NextOffset() > l.hw || len(out) > 0 && len(out)+len(b) > len(buf) {
			break
		}
		out = append(out, b...)
	}
	return out, nil
}

func (l *memLog) Bounds() Bounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Bounds{Start: l.start, HighWatermark: l.hw, End: l.end}
}

func (l *memLog) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}
