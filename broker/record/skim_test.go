package record

import (
	"math/rand/v2"
	"testing"
)

// What skim accepts, parseFrame accepts with the same result; so every shortcut is only a shortcut.
func agree(t *testing.T, data []byte, at int) {
	next, timestampDelta, offsetDelta, hasKey := skim(data, at)
	if next == 0 {
		return
	}
	var slow frame
	if field, ok := parseFrame(data, at, &slow); !ok {
		t.Fatalf("skim accepts % x at %d, parseFrame refuses its %s", data, at, field)
	}
	if timestampDelta != slow.timestampDelta || offsetDelta != slow.offsetDelta || next != slow.next || hasKey != (slow.keyEnd >= 0) ||
		slow.headerCount != 0 {
		t.Fatalf("skim gives %d, %d, %d, %v and parseFrame %+v for % x at %d", next, timestampDelta, offsetDelta, hasKey, slow, data, at)
	}
}

func FuzzSkim(f *testing.F) {
	f.Add([]byte("\x10\x00\x00\x00\x01\x04ab\x00 and some more bytes behind it"), 0)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		if at >= 0 && at <= len(data) {
			agree(t, data, at)
		}
	})
}

func TestSkimAgreesWithParseFrame(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 7))
	skimmed := 0
	for range 20_000 {
		b := NewBuilder(BuilderOptions{})
		for range 3 {
			b.Add(0, make([]byte, rnd.IntN(200)), make([]byte, rnd.IntN(70)*rnd.IntN(70)))
		}
		batch, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		data := batch.Payload()
		if rnd.IntN(2) == 0 { // spoil it
			data[rnd.IntN(min(len(data), 20))] = byte(rnd.IntN(256))
		}
		if next, _, _, _ := skim(data, 0); next != 0 {
			skimmed++
		}
		agree(t, data, 0)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if skimmed < 5000 {
		t.Errorf("seed %d: only %d of 20000 records took the short way", seed, skimmed)
	}
}
