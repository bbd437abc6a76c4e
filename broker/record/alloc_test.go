package record_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/record"
)

// The hot path of a produce allocates nothing: a batch is judged where it lies in the request.
func TestHotPathAllocatesNothing(t *testing.T) {
	raw := batchOf(t, record.None, 1024)
	header := [record.HeaderSize]byte(raw)
	rules := plainRules()
	for name, f := range map[string]func(){
		"validate": func() {
			copy(raw, header[:])
			if _, refusal := record.ValidateProduce(raw, rules); refusal != nil {
				t.Fatal(refusal)
			}
		},
		"header": func() {
			b, _, err := record.Next(raw)
			if err != nil {
				t.Fatal(err)
			}
			h, _ := record.ParseHeader(b)
			b.SetBaseOffset(h.BaseOffset)
			b.SetLeaderEpoch(h.LeaderEpoch)
			b.SetLogAppendTime(h.MaxTimestamp + 1)
		},
		"records": func() {
			it := record.Batch(raw).Records(0)
			for it.Next() {
				sink += int64(len(it.Record().Value))
			}
			it.Close()
		},
	} {
		if n := testing.AllocsPerRun(50, f); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
