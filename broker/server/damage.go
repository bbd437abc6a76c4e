package server

import (
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// damageLogEvery is how often damage in one partition is logged: its readers may come back a thousand times a second.
const damageLogEvery = time.Minute

// damageReports counts and logs reads and writes that met damaged batches or indexes on the disk.
type damageReports struct {
	log   logr.Logger
	clock clock

	mu     sync.Mutex
	count  uint64                                 // guarded by mu
	logged map[kafka.TopicPartition]kafka.Elapsed // when last; guarded by mu
}

// report takes in one operation that failed. The partition's lock may be held.
func (d *damageReports) report(doing string, p kafka.TopicPartition, err error) {
	d.mu.Lock()
	d.count++
	now := d.clock.Elapsed()
	last, before := d.logged[p]
	due := !before || now.Sub(last) >= damageLogEvery
	if due {
		if d.logged == nil {
			d.logged = map[kafka.TopicPartition]kafka.Elapsed{}
		}
		d.logged[p] = now
	}
	d.mu.Unlock()
	if due {
		d.log.Error(err, "stored data is damaged", "doing", doing, "partition", p.String())
	}
}

func (d *damageReports) total() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return float64(d.count)
}
