package catalogue

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// inBubble runs a test with the catalogue of a cluster in a bubble, where time passes when all wait.
func inBubble(t *testing.T, b *brokers, test func(t *testing.T, c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		set := NewClusters()
		c := set.Of("c", func() Options {
			return Options{
				Brokers: func() (Brokers, error) { return b, nil },
				Managed: func() []string { return []string{"a", "b", "none"} },
			}
		})
		test(t, c)
		set.Close()
	})
}

func old() time.Time { return time.Now().Add(-MaxAge) }

// expectFound checks that a topic is known to exist or not.
func expectFound(t *testing.T, what string, a Answer, exists bool) {
	t.Helper()
	if f, known := a.Found.Get(); !known || (f != nil) != exists {
		t.Errorf("%s: %+v, known %v: %s", what, f, known, a.Found.Why())
	}
}

func expectAsked(t *testing.T, what string, b *brokers, want ...string) {
	t.Helper()
	if got := b.take(); !slices.Equal(got, want) {
		t.Errorf("%s: asked %q, want %q", what, got, want)
	}
}

func TestOneQuestionIsForAllTopics(t *testing.T) {
	b := newBrokers("a", "b", "other")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		a := c.Look(t.Context(), "a", old())
		expectFound(t, "a", a, true)
		f, _ := a.Found.Get()
		if f.ID != (kafka.TopicID{1}) || f.Settings["retention.ms"] != "5" || len(f.Partitions) != 1 || len(f.Partitions[0].Adding) != 1 {
			t.Errorf("%+v", f)
		}
		if r, _ := a.Brokers.Get(); len(r) != 2 || r[0].Rack != "r" || !r[1].Fenced {
			t.Errorf("brokers %+v", r)
		}
		expectFound(t, "b", c.Look(t.Context(), "b", old()), true)
		expectFound(t, "none", c.Look(t.Context(), "none", old()), false)
		expectFound(t, "one that nobody asked for", c.Look(t.Context(), "new", old()), false)
		expectAsked(t, "three looks", b, "topics all", "settings a b")

		time.Sleep(MaxAge - time.Second)
		c.Look(t.Context(), "a", old())
		expectAsked(t, "while it is not old", b)
		time.Sleep(2 * time.Second)
		c.Look(t.Context(), "a", old())
		c.Look(t.Context(), "b", old())
		expectAsked(t, "when it is old", b, "topics all", "settings a b")
	})
}

func TestWhatMustBeNewIsAskedForByName(t *testing.T) {
	b := newBrokers("a")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		c.Look(t.Context(), "a", old())
		b.take()
		time.Sleep(time.Second)
		b.add("b")
		expectFound(t, "b as it was", c.Look(t.Context(), "b", old()), false)
		expectAsked(t, "what is known is enough", b)
		expectFound(t, "b as it is", c.Look(t.Context(), "b", time.Now()), true)
		expectAsked(t, "it is not", b, "topics b", "settings b")
		delete(b.topics, "a")
		expectFound(t, "a as it was", c.Look(t.Context(), "a", old()), true)
		expectFound(t, "a as it is", c.Look(t.Context(), "a", time.Now()), false)
		expectAsked(t, "absent", b, "topics a")
	})
}

func TestQuestionsThatComeTogetherGoTogether(t *testing.T) {
	b := newBrokers("a", "b", "d", "e")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		c.Look(t.Context(), "a", old())
		b.take()
		time.Sleep(time.Millisecond)
		b.answers(func(context.Context) error { time.Sleep(100 * time.Millisecond); return nil })
		now := time.Now()
		var all sync.WaitGroup
		for i, name := range []string{"a", "b", "d", "e"} {
			all.Go(func() {
				if i >= 2 { // while the first question is on its way
					time.Sleep(gather + time.Millisecond)
				}
				expectFound(t, name, c.Look(t.Context(), name, now), true)
			})
		}
		all.Wait()
		expectAsked(t, "two and two", b, "topics a b", "settings a b", "topics d e", "settings d e")
	})
}

// A question that was on its way when something was changed does not tell of the change.
func TestAnAnswerIsNoOlderThanAskedFor(t *testing.T) {
	b := newBrokers("a")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		b.answers(func(context.Context) error { time.Sleep(400 * time.Millisecond); return nil })
		go c.Look(context.Background(), "a", old())
		time.Sleep(gather + time.Millisecond)
		synctest.Wait()
		expectFound(t, "a", c.Look(t.Context(), "a", time.Now()), true)
		expectAsked(t, "asked again", b, "topics all", "settings a", "topics a", "settings a")
	})
}

func TestABrokerThatIsBehindIsAskedAgain(t *testing.T) {
	b := newBrokers("a")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		b.lag = 2
		expectFound(t, "a", c.Look(t.Context(), "a", old()), true)
		expectAsked(t, "three times", b, "topics all", "settings a", "settings a", "settings a")
		b.lag = describeAttempts
		if a := c.Look(t.Context(), "a", time.Now()); a.Found.Known() {
			f, _ := a.Found.Get()
			t.Errorf("a topic whose settings are not told is known: %+v", f)
		}
	})
}

// A topic that exists and that nobody managed when all were asked for is not known to be absent.
func TestATopicThatWasNotDescribedIsNotAbsent(t *testing.T) {
	b := newBrokers("a", "foreign")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		c.Look(t.Context(), "a", old())
		b.take()
		expectFound(t, "foreign", c.Look(t.Context(), "foreign", old()), true)
		expectAsked(t, "by name", b, "topics foreign", "settings foreign")
	})
}

func TestAClusterThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	b := newBrokers("a")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		took := func(name string) (time.Duration, Answer) {
			begin := time.Now()
			a := c.Look(t.Context(), name, old())
			return time.Since(begin), a
		}
		b.answers(func(ctx context.Context) error { // until the client gives up
			select {
			case <-time.After(15 * time.Second):
				return errAway
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if d, a := took("a"); d != Patience || a.Found.Known() || !a.HeardAt.IsZero() {
			t.Errorf("the first waits %v: %+v", d, a)
		}
		time.Sleep(2 * gather)
		if d, a := took("b"); d != 0 || a.Found.Known() {
			t.Errorf("the next waits %v", d)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		b.answers(func(context.Context) error { return errAway })
		time.Sleep(Pause)
		b.take()
		if d, a := took("a"); d != 0 || a.Found.Why() != errAway.Error() {
			t.Errorf("after a failure it waits %v: %s", d, a.Found.Why())
		}
		time.Sleep(time.Second)
		for range 20 {
			took("a")
		}
		if n := len(b.take()); n != 1 {
			t.Errorf("%d questions within a pause", n)
		}
	})
}

func TestWhatWasKnownStaysKnownWhenTheClusterIsAway(t *testing.T) {
	b := newBrokers("a")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		c.Look(t.Context(), "a", old())
		heard := c.Look(t.Context(), "a", old()).HeardAt
		time.Sleep(time.Millisecond)
		b.answers(func(context.Context) error { return errAway })
		if a := c.Look(t.Context(), "a", time.Now()); a.Found.Known() || a.HeardAt != heard {
			t.Errorf("%+v", a)
		}
		expectFound(t, "not fresh, but known", c.Look(t.Context(), "a", old()), true)
	})
}

func TestARecoveryIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, told := newBrokers("a"), 0
		set := NewClusters()
		defer set.Close()
		c := set.Of("c", func() Options {
			return Options{Brokers: func() (Brokers, error) { return b, nil }, Managed: func() []string { return nil }, Recovered: func() { told++ }}
		})
		c.Look(t.Context(), "a", old())
		synctest.Wait()
		if told != 0 {
			t.Error("told of the first answer")
		}
		time.Sleep(time.Millisecond)
		b.answers(func(context.Context) error { return errAway })
		c.Look(t.Context(), "a", time.Now())
		b.answers(nil)
		time.Sleep(Pause)
		for range 3 {
			c.Look(t.Context(), "a", time.Now())
			time.Sleep(time.Second)
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	})
}

func TestAClusterThatIsGoneIsAskedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrokers("a")
		b.answers(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		set := NewClusters()
		options := func() Options {
			return Options{Brokers: func() (Brokers, error) { return b, nil }, Managed: func() []string { return nil }}
		}
		c := set.Of("c", options)
		go c.Look(context.Background(), "a", old())
		time.Sleep(time.Second)
		set.Drop("c") // ends the question and waits for that
		b.take()
		if a := c.Look(t.Context(), "a", time.Now()); a.Found.Known() {
			t.Errorf("%+v", a)
		}
		if a := set.Of("c", options).Look(t.Context(), "a", time.Now()); a.Found.Known() {
			t.Errorf("%+v", a)
		}
		set.Close()
		if a := set.Of("d", options).Look(t.Context(), "a", time.Now()); a.Found.Known() {
			t.Errorf("%+v", a)
		}
		expectAsked(t, "afterwards", b)
		if err := set.Of("c", options).Create(t.Context(), newTopic("x", 1)); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Error(err)
		}
	})
}

func TestAQuestionDuringAPauseIsPutAfterIt(t *testing.T) {
	b := newBrokers("a")
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		b.answers(func(context.Context) error { return errAway })
		c.Look(t.Context(), "a", old())
		b.answers(nil)
		if a := c.Look(t.Context(), "a", old()); a.Found.Known() {
			t.Errorf("%+v", a)
		}
		time.Sleep(Pause + gather)
		b.take()
		expectFound(t, "without another question", c.Look(t.Context(), "a", old()), true)
		expectAsked(t, "it was put", b)
	})
}
