package kafka

import "time"

// Timestamp is wall time in milliseconds since the Unix epoch, as records carry it.
// Wall clocks jump: it dates records and decides retention, never timeouts.
type Timestamp int64

// NoTimestamp stands where a record or a log has none.
const NoTimestamp Timestamp = -1

// TimestampOf converts a wall-clock reading.
func TimestampOf(t time.Time) Timestamp { return Timestamp(t.UnixMilli()) }

// Time converts back, in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Elapsed is a reading of a clock that never jumps: the time since an origin that the process (or the simulation)
// chose. It decides timeouts and orders nothing across processes.
type Elapsed time.Duration

// Add moves the reading forward by d.
func (e Elapsed) Add(d time.Duration) Elapsed { return e + Elapsed(d) }

// Sub is the time from o to e.
func (e Elapsed) Sub(o Elapsed) time.Duration { return time.Duration(e - o) }
