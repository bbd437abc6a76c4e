package conn

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestPlacesFollowTheirLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(2)
		for i := range 3 {
			if got := p.tryTake(); got != (i < 2) {
				t.Fatalf("place %d of two: %v", i, got)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 3)
		wait := func() { given <- p.take(ctx) }
		go wait()
		synctest.Wait()
		p.giveBack()
		if err := <-given; err != nil {
			t.Error(err)
		}
		p.setLimit(1) // below what is taken
		go wait()
		p.giveBack()
		synctest.Wait()
		if len(given) > 0 || p.tryTake() {
			t.Error("a place beyond the lowered limit")
		}
		p.giveBack()
		synctest.Wait()
		if len(given) != 1 {
			t.Fatal("no place after enough came back")
		}
		<-given
		go wait()
		go wait()
		synctest.Wait()
		p.setLimit(2)
		synctest.Wait()
		if len(given) != 1 {
			t.Fatalf("%d places given by a limit that rose by one", len(given))
		}
		<-given
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
