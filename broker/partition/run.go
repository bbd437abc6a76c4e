package partition

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Intervals of the loops; zero gets Kafka's default.
type Intervals struct {
	Watermarks time.Duration // replica.high.watermark.checkpoint.interval.ms: 5 s
	Recovery   time.Duration // log.flush.offset.checkpoint.interval.ms: 60 s
	Retention  time.Duration // log.retention.check.interval.ms: 5 min
	Purge      time.Duration // how often folders due for removal are looked for: 1 s
	// Compaction is log.cleaner.backoff.ms as it is now: 15 s. It is asked before each pause; nil gets the default.
	Compaction func() time.Duration
}

// flushOldEvery is how often old unflushed data is looked for.
const flushOldEvery = 5 * time.Second

// Clock reads the two times.
type Clock func() (kafka.Elapsed, kafka.Timestamp)

// Report is told what a loop did or could not do; it is the edge where logs and metrics are made. Fields may be empty.
type Report struct {
	Doing   string
	Err     error
	Deleted []DeletedSegments
	Compact []Compacted
}

// Run drives the manager's loops until the context ends, and returns when all have ended. Start must have been called.
func (m *Manager) Run(ctx context.Context, clock Clock, every Intervals, report func(Report)) {
	loops := []func(){
		func() {
			loop(ctx, TickEvery, func() {
				now, _ := clock()
				m.Tick(now)
			})
		},
		func() { m.runFlush(ctx, clock) },
		func() {
			loop(ctx, flushOldEvery, func() {
				now, _ := clock()
				m.FlushOld(ctx.Err, now)
			})
		},
		func() {
			loop(ctx, or(every.Watermarks, 5*time.Second), func() {
				if err := m.CheckpointWatermarks(); err != nil {
					report(Report{Doing: "checkpoint high watermarks", Err: err})
				}
			})
		},
		func() {
			loop(ctx, or(every.Recovery, time.Minute), func() {
				if err := m.CheckpointRecovery(); err != nil {
					report(Report{Doing: "checkpoint recovery points", Err: err})
				}
			})
		},
		func() {
			loop(ctx, or(every.Retention, 5*time.Minute), func() {
				now, wall := clock()
				deleted, errs := m.Retain(now, wall)
				for _, err := range errs {
					report(Report{Doing: "retain", Err: err})
				}
				if len(deleted) > 0 {
					report(Report{Doing: "retain", Deleted: deleted})
				}
			})
		},
		func() {
			for pause(ctx, every.compaction()) {
				now, wall := clock()
				if done := m.Compact(ctx.Err, now, wall); len(done) > 0 {
					report(Report{Doing: "compact", Compact: done})
				}
			}
		},
		func() {
			loop(ctx, or(every.Purge, time.Second), func() {
				now, _ := clock()
				if err := m.Purge(now); err != nil {
					report(Report{Doing: "remove deleted partitions", Err: err})
				}
			})
		},
	}
	done := make(chan struct{}, len(loops))
	for _, l := range loops {
		go func() {
			l()
			done <- struct{}{}
		}()
	}
	for range loops {
		<-done
	}
}

// runFlush flushes whenever there is something: while one fsync runs, the appends of the next one gather.
func (m *Manager) runFlush(ctx context.Context, clock Clock) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.FlushWanted():
			now, _ := clock()
			m.Flush(now)
		}
	}
}

func (i Intervals) compaction() time.Duration {
	var now time.Duration
	if i.Compaction != nil {
		now = i.Compaction()
	}
	return or(now, 15*time.Second)
}

// pause is over after d, false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func loop(ctx context.Context, every time.Duration, do func()) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			do()
		}
	}
}

func or(d, byDefault time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return byDefault
}
