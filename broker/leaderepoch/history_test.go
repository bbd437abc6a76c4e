package leaderepoch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
)

func history(t testing.TB, pairs ...int) *leaderepoch.History {
	t.Helper()
	h := new(leaderepoch.History)
	for i := 0; i < len(pairs); i += 2 {
		if !h.Assign(kafka.LeaderEpoch(pairs[i]), kafka.Offset(pairs[i+1])) {
			t.Fatalf("epoch %d at %d is no news to %v", pairs[i], pairs[i+1], h.Entries())
		}
	}
	return h
}

func wantEntries(t testing.TB, name string, h *leaderepoch.History, pairs ...int) {
	t.Helper()
	var want []leaderepoch.Entry
	for i := 0; i < len(pairs); i += 2 {
		want = append(want, leaderepoch.Entry{Epoch: kafka.LeaderEpoch(pairs[i]), Start: kafka.Offset(pairs[i+1])})
	}
	if got := h.Entries(); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

func TestEndOfAnEpoch(t *testing.T) {
	for _, c := range []struct {
		name  string
		h     *leaderepoch.History
		asked kafka.LeaderEpoch
		epoch kafka.LeaderEpoch
		end   kafka.Offset
		ok    bool
	}{
		{"the latest ends at the log's end", history(t, 2, 0, 5, 10), 5, 5, 30, true},
		{"an earlier one ends where the next starts", history(t, 2, 0, 5, 10, 7, 20), 5, 5, 20, true},
		{"one that wrote nothing counts as the one below it", history(t, 2, 0, 5, 10, 7, 20), 6, 5, 20, true},
		{"one older than the log ends at the start of the first", history(t, 5, 10, 7, 20), 3, 3, 10, true},
		{"KAFKA-6857: a newer one than any is unknown, not the log's end", history(t, 2, 0, 5, 10), 6, -1, -1, false},
		{"KAFKA-6857: an empty history knows nothing", history(t), 0, -1, -1, false},
		{"no epoch", history(t, 2, 0), kafka.NoLeaderEpoch, -1, -1, false},
		{"the latest before its first record", history(t, 2, 0, 5, 30), 5, 5, 30, true},
	} {
		if epoch, end, ok := c.h.EndOffsetFor(c.asked, 30); epoch != c.epoch || end != c.end || ok != c.ok {
			t.Errorf("%s: (%d, %d, %v), want (%d, %d, %v)", c.name, epoch, end, ok, c.epoch, c.end, c.ok)
		}
	}
}

func TestAssign(t *testing.T) {
	h := history(t, 2, 0, 5, 10)
	for _, repeated := range [][2]int{{5, 10}, {5, 11}, {-1, 40}, {6, -1}} {
		if h.Assign(kafka.LeaderEpoch(repeated[0]), kafka.Offset(repeated[1])) {
			t.Errorf("epoch %d at %d changes %v", repeated[0], repeated[1], h.Entries())
		}
	}
	wantEntries(t, "unchanged", h, 2, 0, 5, 10)
	wantEntries(t, "an epoch that wrote nothing vanishes", history(t, 2, 0, 5, 10, 6, 10), 2, 0, 6, 10)
	wantEntries(t, "an epoch that went back drops what it contradicts", history(t, 2, 0, 5, 10, 3, 15), 2, 0, 3, 15)
	wantEntries(t, "a start that went back drops what it contradicts", history(t, 2, 0, 5, 10, 7, 20, 8, 5), 2, 0, 8, 5)
	wantEntries(t, "the same epoch with an earlier start", history(t, 2, 0, 5, 10, 5, 7), 2, 0, 5, 7)
}

func TestTruncation(t *testing.T) {
	h := history(t, 2, 0, 5, 10, 7, 20)
	if h.TruncateFromEnd(21) {
		t.Error("all entries start below 21")
	}
	wantEntries(t, "above the last start", h, 2, 0, 5, 10, 7, 20)
	// A leader of epoch 7 that wrote nothing becomes a follower; its log ends at 20 and needs no cut.
	h.TruncateFromEnd(20)
	wantEntries(t, "KAFKA-10706: trimmed although the log needs no truncation", h, 2, 0, 5, 10)
	if _, _, ok := h.EndOffsetFor(7, 20); ok {
		t.Error("KAFKA-10706: epoch 7 is still known")
	}
	h.TruncateFromEnd(0)
	wantEntries(t, "everything", h)

	h = history(t, 2, 0, 5, 10, 7, 20)
	h.TruncateFromStart(0)
	wantEntries(t, "nothing deleted", h, 2, 0, 5, 10, 7, 20)
	h.TruncateFromStart(9)
	wantEntries(t, "inside the first", h, 2, 9, 5, 10, 7, 20)
	h.TruncateFromStart(10)
	wantEntries(t, "at a start", h, 5, 10, 7, 20)
	h.TruncateFromStart(100)
	wantEntries(t, "beyond all: the latest stays known", h, 7, 100)
	h.TruncateFromStart(50)
	wantEntries(t, "never back", h, 7, 100)
}

// naive knows the epoch of every single offset, as the log itself does, and those leaders that noted their epoch at the
// end and have written nothing yet. Everything is looked up by walking.
type naive struct {
	start  int // of the log
	epochs []int
	noted  int // epoch noted at the end of the log, -1: none
}

func (n *naive) end() int { return n.start + len(n.epochs) }

// entries are the starts of runs of one epoch.
func (n *naive) entries() []leaderepoch.Entry {
	var out []leaderepoch.Entry
	add := func(epoch, at int) {
		if len(out) == 0 || int(out[len(out)-1].Epoch) != epoch {
			out = append(out, leaderepoch.Entry{Epoch: kafka.LeaderEpoch(epoch), Start: kafka.Offset(at)})
		}
	}
	for i, e := range n.epochs {
		add(e, n.start+i)
	}
	if n.noted >= 0 {
		add(n.noted, n.end())
	}
	return out
}

func (n *naive) endOffsetFor(epoch int) string {
	es := n.entries()
	if epoch < 0 || len(es) == 0 || epoch > int(es[len(es)-1].Epoch) {
		return "unknown"
	}
	found, end := epoch, int(es[0].Start)
	for i, e := range es {
		if int(e.Epoch) > epoch {
			break
		}
		found, end = int(e.Epoch), n.end()
		if i+1 < len(es) {
			end = int(es[i+1].Start)
		}
	}
	return fmt.Sprint(found, end)
}

func TestHistoryAgreesWithTheLogItself(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		var h leaderepoch.History
		n := &naive{noted: -1}
		epoch := 0
		for step := range 100 {
			switch rnd.IntN(8) {
			case 0, 1: // elected
				epoch += 1 + rnd.IntN(2)
				h.Assign(kafka.LeaderEpoch(epoch), kafka.Offset(n.end()))
				n.noted = epoch
			case 2, 3, 4: // a batch of the present epoch
				h.Assign(kafka.LeaderEpoch(epoch), kafka.Offset(n.end()))
				for range 1 + rnd.IntN(4) {
					n.epochs = append(n.epochs, epoch)
				}
				n.noted = -1
			case 5: // diverged
				cut := rnd.IntN(len(n.epochs) + 1)
				h.TruncateFromEnd(kafka.Offset(n.start + cut))
				n.epochs, n.noted = n.epochs[:cut], -1
			case 6: // records deleted
				k := rnd.IntN(len(n.epochs) + 1)
				if k == len(n.epochs) && n.noted < 0 && k > 0 {
					k-- // an emptied log remembers its latest epoch, which the model below does not
				}
				h.TruncateFromStart(kafka.Offset(n.start + k))
				n.start, n.epochs = n.start+k, n.epochs[k:]
			case 7: // restart
				text := h.AppendCheckpoint(nil)
				read, err := leaderepoch.ParseCheckpoint(text)
				if err != nil {
					t.Fatalf("seed %d: %v in\n%s", seed, err, text)
				}
				h = read
			}
			if got, want := h.Entries(), n.entries(); !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d: history %v, log %v", seed, step, got, want)
			}
			for asked := -1; asked <= epoch+2; asked++ {
				got := "unknown"
				if e, end, ok := h.EndOffsetFor(kafka.LeaderEpoch(asked), kafka.Offset(n.end())); ok {
					got = fmt.Sprint(int(e), int(end))
				}
				if want := n.endOffsetFor(asked); got != want {
					t.Fatalf("seed %d, step %d: end of epoch %d is %s, want %s; history %v", seed, step, asked, got, want, h.Entries())
				}
			}
			for i, e := range n.epochs {
				if got, ok := h.EpochOf(kafka.Offset(n.start + i)); !ok || int(got) != e {
					t.Fatalf("seed %d, step %d: offset %d is of epoch %d, want %d", seed, step, n.start+i, got, e)
				}
			}
		}
	}
}

// Rule 1: two logs that were written under the protocol agree below the point that the leader's answers lead to.
// A follower asks for the end of its latest epoch, cuts there, and asks again while the answer is of another epoch
// than it has (KIP-279).
func TestFollowersConvergeOnTheCommonPrefix(t *testing.T) {
	for range 500 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		// Each log is a prefix of common records and then its own epochs, never the same ones.
		var leader, follower leaderepoch.History
		end, epoch := 0, 0
		for range rnd.IntN(4) {
			epoch++
			leader.Assign(kafka.LeaderEpoch(epoch), kafka.Offset(end))
			follower.Assign(kafka.LeaderEpoch(epoch), kafka.Offset(end))
			end += 1 + rnd.IntN(5)
		}
		common, leaderEnd, followerEnd := end, end, end
		if epoch > 0 && rnd.IntN(2) == 0 { // one of them has more of the last common epoch
			followerEnd += rnd.IntN(4)
		}
		for range 1 + rnd.IntN(6) {
			epoch++
			h, e := &leader, &leaderEnd
			if rnd.IntN(2) == 0 {
				h, e = &follower, &followerEnd
			}
			h.Assign(kafka.LeaderEpoch(epoch), kafka.Offset(*e))
			*e += 1 + rnd.IntN(5)
		}
		epoch++
		leader.Assign(kafka.LeaderEpoch(epoch), kafka.Offset(leaderEnd)) // it is elected

		for round := 0; ; round++ {
			last, ok := follower.Latest()
			if !ok {
				followerEnd = 0 // nothing in common: it starts anew
				break
			}
			found, to, ok := leader.EndOffsetFor(last.Epoch, kafka.Offset(leaderEnd))
			if !ok || round > 50 {
				t.Fatalf("seed %d: the leader does not know epoch %d, or it does not end", seed, last.Epoch)
			}
			if _, mine, ok := follower.EndOffsetFor(found, kafka.Offset(followerEnd)); ok {
				to = min(to, mine)
			}
			to = min(to, kafka.Offset(followerEnd))
			follower.TruncateFromEnd(to)
			followerEnd = int(to)
			if found == last.Epoch {
				break
			}
		}
		if followerEnd > common {
			t.Fatalf("seed %d: the follower keeps %d records, only %d are in common; leader %v, follower %v", seed, followerEnd, common, leader.Entries(), follower.Entries())
		}
	}
}
