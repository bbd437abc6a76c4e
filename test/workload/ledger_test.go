package workload

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// filled is a ledger of n records in one partition that kept every promise.
func filled(n int64) (*Ledger, [][]Entry) {
	l := NewLedger(1)
	log := [][]Entry{nil}
	for i := range n {
		l.ack(0, l.send(0), i, time.Unix(i, 0))
		l.saw(0, i, i)
		log[0] = append(log[0], Entry{i, i})
	}
	return l, log
}

// Each promise has a way to break it that the check reports.
func TestLedgerFindsBrokenPromises(t *testing.T) {
	for _, r := range []struct {
		what   string
		damage func(l *Ledger, log [][]Entry) [][]Entry
		want   string
	}{
		{"nothing broken", func(_ *Ledger, log [][]Entry) [][]Entry { return log }, ""},
		{"lost at the end", func(_ *Ledger, log [][]Entry) [][]Entry { log[0] = log[0][:4]; return log }, "K2: partition 0 holds 4 records, 5 were sent"},
		{"lost in the middle", func(_ *Ledger, log [][]Entry) [][]Entry { log[0] = append(log[0][:2], log[0][3:]...); return log },
			"K2: the record at offset 3 of partition 0 is 3, want 2"},
		{"stored twice", func(_ *Ledger, log [][]Entry) [][]Entry { log[0] = append(log[0], Entry{5, 4}); return log }, "K2: the record at offset 5 of partition 0 is 4, want 5"},
		{"reordered", func(_ *Ledger, log [][]Entry) [][]Entry { log[0][1], log[0][2] = Entry{1, 2}, Entry{2, 1}; return log },
			"K2: the record at offset 1 of partition 0 is 2, want 1"},
		{"moved", func(l *Ledger, log [][]Entry) [][]Entry { l.lanes[0].acked[3] = 7; return log }, "K3: record 3 of partition 0 was acknowledged at offset 7; there: true, at 3"},
		{"failed", func(l *Ledger, log [][]Entry) [][]Entry { l.fail(0, 9, errors.New("no")); return log }, "K1: produce of record 9 to partition 0: no"},
		{"never answered", func(l *Ledger, log [][]Entry) [][]Entry { l.send(0); log[0] = append(log[0], Entry{5, 5}); return log }, "K1: 5 records of partition 0 were acknowledged, 6 were sent"},
		{"shown twice", func(l *Ledger, log [][]Entry) [][]Entry { l.saw(0, 4, 4); return log }, "K4: the reader was shown offset 4 of partition 0, want 5"},
		{"shown and gone", func(l *Ledger, log [][]Entry) [][]Entry { l.saw(0, 5, 5); return log }, "K4: the reader was shown 6 records of partition 0, it holds 5"},
		{"shown and changed", func(l *Ledger, log [][]Entry) [][]Entry { l.lanes[0].seen[2] = 9; return log }, "K4: the reader's record 2 of partition 0 was 9, the log has 2"},
	} {
		l, log := filled(5)
		got := strings.Join(l.Check(r.damage(l, log)), "\n")
		if r.want == "" && got != "" || !strings.Contains(got, r.want) {
			t.Errorf("%s: %q, want %q", r.what, got, r.want)
		}
	}
}

func TestGap(t *testing.T) {
	l := NewLedger(1)
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, s := range []int64{1, 2, 3, 9, 10, 30} {
		l.ack(0, l.send(0), s, at(s))
	}
	for _, r := range []struct{ from, now, want int64 }{
		{3, 40, 20},  // 10 to 30
		{0, 40, 20},  // nothing before from
		{29, 40, 20}, // began before from, ended after
		{30, 40, 10}, // none since: up to now
	} {
		if got := l.Gap(0, at(r.from), at(r.now)); got != time.Duration(r.want)*time.Second {
			t.Errorf("longest gap after %d is %v, want %d s", r.from, got, r.want)
		}
	}
}
