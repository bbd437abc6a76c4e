package workload

import (
	"strings"
	"testing"
)

func TestGroupLedgerFindsBrokenPromises(t *testing.T) {
	see := func(l *GroupLedger, member int, from, to int64) {
		for o := from; o < to; o++ {
			l.saw(member, 0, o)
		}
	}
	for _, r := range []struct {
		what     string
		play     func(l *GroupLedger)
		repeated int64
		want     string
	}{
		{"one member, all in order", func(l *GroupLedger) { l.assigned(0, 0); see(l, 0, 0, 5); l.committed(0, 5) }, 0, ""},
		{"the second begins at the commit", func(l *GroupLedger) {
			l.assigned(0, 0)
			see(l, 0, 0, 5)
			l.committed(0, 3)
			l.assigned(1, 0)
			see(l, 1, 3, 6)
		}, 2, ""},
		{"a member that lost the partition does not know it yet", func(l *GroupLedger) {
			l.assigned(0, 0)
			see(l, 0, 0, 5)
			l.assigned(1, 0)
			see(l, 1, 0, 8)
			see(l, 0, 5, 6)
		}, 6, ""},
		{"passed over from the start", func(l *GroupLedger) { l.assigned(0, 0); l.saw(0, 0, 2) }, 0, "G1: member 0 was shown offset 2 of partition 0, nobody was shown 0"},
		{"passed over at a handover", func(l *GroupLedger) { l.assigned(0, 0); see(l, 0, 0, 5); l.assigned(1, 0); l.saw(1, 0, 6) }, 0,
			"G1: member 1 was shown offset 6 of partition 0, nobody was shown 5"},
		{"a gap in one turn that another member had filled", func(l *GroupLedger) {
			l.assigned(0, 0)
			see(l, 0, 0, 5)
			l.assigned(1, 0)
			l.saw(1, 0, 0)
			l.saw(1, 0, 3)
		}, 2, "G2: member 1 was shown offset 3 of partition 0, want 1"},
		{"going back in one turn", func(l *GroupLedger) { l.assigned(0, 0); see(l, 0, 0, 5); l.saw(0, 0, 4) }, 1, "G2: member 0 was shown offset 4 of partition 0, want 5"},
		{"a commit was forgotten", func(l *GroupLedger) {
			l.assigned(0, 0)
			see(l, 0, 0, 5)
			l.committed(0, 5)
			l.assigned(1, 0)
			l.saw(1, 0, 0)
		}, 1, "G3: member 1 begins partition 0 at 0, 5 is committed"},
	} {
		l := NewGroupLedger()
		r.play(l)
		if got := strings.Join(l.Broken(), "\n"); got != r.want {
			t.Errorf("%s: %q, want %q", r.what, got, r.want)
		}
		if got := l.Repeated(); got != r.repeated {
			t.Errorf("%s: %d records shown again, want %d", r.what, got, r.repeated)
		}
	}
}
