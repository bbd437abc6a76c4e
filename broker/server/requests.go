package server

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// maxTimedKey bounds the keys that are counted: Kafka's are below, private ones far above.
const maxTimedKey = 128

// durationBounds are the upper bounds of the histogram of request durations.
var durationBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 10 * time.Second,
}

// requestCounts counts requests by API, and how long they took. Everything is an atomic in place: nothing is allocated for a request.
type requestCounts struct{ byKey [maxTimedKey]durations }

// durations is a histogram. counts[i] has what took at most durationBounds[i] and longer than the bound before; the last has the rest.
type durations struct {
	counts [len(durationBounds) + 1]atomic.Uint64
	sum    atomic.Int64 // nanoseconds
}

func (d *durations) add(took time.Duration) {
	i := 0
	for i < len(durationBounds) && took > durationBounds[i] {
		i++
	}
	d.counts[i].Add(1)
	d.sum.Add(int64(took))
}

// histogram is a reading, as Prometheus has it: buckets count what is at most their bound in seconds.
type histogram struct {
	count   uint64
	sum     float64
	buckets map[float64]uint64
}

func (d *durations) read() histogram {
	h := histogram{sum: time.Duration(d.sum.Load()).Seconds(), buckets: make(map[float64]uint64, len(durationBounds))}
	for i := range d.counts {
		h.count += d.counts[i].Load()
		if i < len(durationBounds) {
			h.buckets[durationBounds[i].Seconds()] = h.count
		}
	}
	return h
}

// each gives the histograms of the APIs that were asked for.
func (r *requestCounts) each(add func(h histogram, api string)) {
	for key := range r.byKey {
		api, ok := wire.Lookup(kmsg.Key(key))
		if !ok {
			continue
		}
		if h := r.byKey[key].read(); h.count > 0 {
			add(h, api.Name)
		}
	}
}

// Replied counts one request. See conn.Timer.
func (r *requestCounts) Replied(key kmsg.Key, took time.Duration) {
	if key >= 0 && int(key) < len(r.byKey) {
		r.byKey[key].add(took)
	}
}

// counted is a handler whose requests are counted.
type counted struct {
	conn.Handler
	counts *requestCounts
}

// Handle passes on and has the reply timed.
func (c counted) Handle(r *conn.Request) *conn.Reply {
	reply := c.Handler.Handle(r)
	reply.Time(r, c.counts)
	return reply
}
