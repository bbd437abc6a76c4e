package leaderepoch_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/broker/leaderepoch"
)

func TestCheckpointText(t *testing.T) {
	if got, want := string(history(t, 2, 0, 5, 1<<40).AppendCheckpoint(nil)), "0\n2\n2 0\n5 1099511627776\n"; got != want {
		t.Errorf("checkpoint %q, want Kafka's %q", got, want)
	}
	if got := string(history(t).AppendCheckpoint([]byte("x"))); got != "x0\n0\n" {
		t.Errorf("empty checkpoint %q", got)
	}
	h, err := leaderepoch.ParseCheckpoint([]byte("0\n2\n0 0\n3 77")) // without the last line's end
	if err != nil {
		t.Fatal(err)
	}
	wantEntries(t, "read", &h, 0, 0, 3, 77)
	for _, bad := range []string{
		"", "0", "1\n0\n", "0\n1\n", "0\n0\n1 1\n", "0\n-1\n", "0\nx\n", "0\n9999999999999999999\n", "0\n1\n1\n", "0\n1\n1 x\n", "0\n1\n1 2 3\n",
		"0\n1\n-1 0\n", "0\n1\n0 -1\n", "0\n1\n4294967296 0\n", "0\n2\n1 5\n1 6\n", "0\n2\n1 5\n2 5\n", "0\n2\n2 5\n1 6\n", "0\n1\n\n", "0\n1000000000\n1 1\n",
	} {
		if _, err := leaderepoch.ParseCheckpoint([]byte(bad)); !errors.Is(err, leaderepoch.ErrCorrupt) {
			t.Errorf("%q: error %v, want corrupt", bad, err)
		}
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add([]byte("0\n2\n0 0\n3 77\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := leaderepoch.ParseCheckpoint(text)
		if err != nil {
			if !errors.Is(err, leaderepoch.ErrCorrupt) {
				t.Fatalf("error of an unknown kind: %v", err)
			}
			return
		}
		again, err := leaderepoch.ParseCheckpoint(h.AppendCheckpoint(nil))
		if err != nil || !slices.Equal(again.Entries(), h.Entries()) {
			t.Fatalf("%v is read back as %v, %v", h.Entries(), again.Entries(), err)
		}
	})
}

func BenchmarkAssignAndLookUp(b *testing.B) {
	h := history(b, 2, 0, 5, 10, 7, 20)
	b.ReportAllocs()
	for b.Loop() {
		h.Assign(7, 30)
		h.EndOffsetFor(5, 100)
	}
}
