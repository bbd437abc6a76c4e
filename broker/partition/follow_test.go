package partition_test

import (
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// placed is a batch of one record with its place in the log.
func placed(offset kafka.Offset, epoch kafka.LeaderEpoch) record.Batch {
	b := record.Batch(batch("v"))
	b.SetBaseOffset(offset)
	b.SetLeaderEpoch(epoch)
	return b
}

func TestAFollowerTakesOnlyWhatContinuesItsLog(t *testing.T) {
	damaged := placed(1, 0)
	damaged[len(damaged)-1] ^= 1
	whole := placed(0, 0)
	for name, f := range map[string]struct {
		records []byte
		code    kafka.ErrorCode
		end     kafka.Offset
	}{
		"in order":                       {slices.Concat(placed(0, 0), placed(1, 0)), kafka.None, 2},
		"nothing":                        {nil, kafka.None, 0},
		"a gap that compaction left":     {slices.Concat(placed(0, 0), placed(5, 0)), kafka.None, 6},
		"the last one cut":               {slices.Concat(placed(0, 0), placed(1, 0)[:65]), kafka.None, 1},
		"the last one damaged":           {slices.Concat(placed(0, 0), damaged), kafka.CorruptMessage, 1},
		"bytes that are no batch":        {slices.Concat(placed(0, 0), make([]byte, 100)), kafka.CorruptMessage, 1},
		"of a later epoch (KAFKA-18723)": {slices.Concat(placed(0, 0), placed(1, 9)), kafka.CorruptMessage, 1},
		"an epoch that goes back":        {slices.Concat(placed(0, 3), placed(1, 2)), kafka.CorruptMessage, 1},
		"an offset that goes back":       {slices.Concat(placed(3, 0), placed(1, 0)), kafka.CorruptMessage, 4},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, nil)
			c.topic(0, 1)
			c.lead(0)
			c.lead(0)
			c.lead(0)
			c.sync() // leader epoch 3
			p := c.brokers[1].partition()
			code := p.TakeAnswer(replica.Answer{Asked: 3, Records: f.records, LeaderStart: 0, LeaderWatermark: 100, Now: c.now, Wall: c.wall()})
			if d := p.Describe(); code != f.code || d.LogEnd != f.end || d.HighWatermark != f.end {
				t.Errorf("code %d, log end %d, watermark %d; want %d, %d", code, d.LogEnd, d.HighWatermark, f.code, f.end)
			}
			// An answer to a fetch as of another epoch is of no use.
			if code := p.TakeAnswer(replica.Answer{Asked: 2, Records: whole, LeaderWatermark: 100}); code != kafka.None || p.Describe().LogEnd != f.end {
				t.Errorf("an old answer gave code %d and log end %d", code, p.Describe().LogEnd)
			}
		})
	}
}
