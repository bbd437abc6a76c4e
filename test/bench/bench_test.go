package main

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/record"
)

// The batch of the raw producer is one that a broker accepts.
func TestRawBatchIsValid(t *testing.T) {
	b, rest, err := record.Next(batch())
	if err != nil || len(rest) != 0 {
		t.Fatalf("%v, %d bytes after the batch", err, len(rest))
	}
	if !b.CheckCRC() || b.Count() != rawRecords || b.LastOffset() != rawRecords-1 {
		t.Errorf("crc %v, %d records, last offset %d", b.CheckCRC(), b.Count(), b.LastOffset())
	}
}

func TestReport(t *testing.T) {
	r := newReport([]system{{"Fairlead", "f"}, {"Kafka", "k"}})
	r.add("Fairlead", "produce 1 KB, RF 3, acks=all, broker CPU", cost, 2)
	r.add("Kafka", "produce 1 KB, RF 3, acks=all, broker CPU", cost, 20)
	r.add("Fairlead", "RSS of a broker of one, idle", memory, 61)
	r.add("Kafka", "produce 1 KB, RF 1, acks=1, broker CPU", cost, 3)
	got := r.markdown()
	for _, want := range []string{
		"| produce 1 KB, RF 3, acks=all, broker CPU | s/GB | 2.00 | 20.00 | 0.100 | at most 0.5 of Kafka's: met |",
		"| RSS of a broker of one, idle | MB | 61.0 | | | at most 60 MB: **missed** |",
		"| produce 1 KB, RF 1, acks=1, broker CPU | s/GB | | 3.00 | |  |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s in\n%s", want, got)
		}
	}
}

func TestGaps(t *testing.T) {
	g := newGaps(1)
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	for _, ms := range []int64{0, 10, 500, 510} {
		g.acks[0] = append(g.acks[0], at(ms))
	}
	if got := g.longestSince(0, at(20)); got != 490*time.Millisecond {
		t.Errorf("longest gap is %v, want 490ms", got)
	}
	if g.allSince(at(20), 2) != nil || g.allSince(at(20), 3) == nil {
		t.Error("two acknowledgements after 20 ms are not counted as two")
	}
}
