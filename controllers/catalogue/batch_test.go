package catalogue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
)

func newTopic(name string, partitions int32) brokerclient.NewTopic {
	return brokerclient.NewTopic{Name: name, Partitions: partitions, Replicas: 1}
}

func TestChangesThatComeTogetherGoTogether(t *testing.T) {
	b := newBrokers()
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		b.answers(func(context.Context) error { time.Sleep(time.Second); return nil })
		no := &brokerclient.Refusal{Code: kafka.InvalidConfig}
		b.refuse["t2"] = no
		var all sync.WaitGroup
		errs := make([]error, 5)
		for i := range errs {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				errs[i] = c.Create(t.Context(), newTopic(fmt.Sprint("t", i), 1))
			})
		}
		all.Wait()
		for i, err := range errs {
			if i == 2 && !errors.Is(err, no) || i != 2 && err != nil {
				t.Errorf("t%d: %v", i, err)
			}
		}
		expectAsked(t, "five", b, "create t0", "create t1 t2 t3 t4")
	})
}

func TestARequestIsBounded(t *testing.T) {
	b := newBrokers()
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		b.answers(func(context.Context) error { time.Sleep(100 * time.Millisecond); return nil })
		var all sync.WaitGroup
		for i := range 1 + maxBatch + 3 {
			all.Go(func() {
				if i > 0 {
					time.Sleep(time.Millisecond)
				}
				if err := c.Create(t.Context(), newTopic(fmt.Sprint("t", i), 1)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var sizes []int
		for _, line := range b.take() {
			sizes = append(sizes, len(strings.Fields(line))-1)
		}
		if fmt.Sprint(sizes) != fmt.Sprint([]int{1, maxBatch, 3}) {
			t.Errorf("topics %v", sizes)
		}
		for i, n := range []int32{1, maxBatchWeight - 10, 10, 1, 2 * maxBatchWeight, -1} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if err := c.Create(t.Context(), newTopic(fmt.Sprint("p", i), n)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		expectAsked(t, "by partitions", b, "create p0", "create p1 p2", "create p3 p5", "create p4")
	})
}

func TestTwoChangesOfOneTopicGoOneAfterTheOther(t *testing.T) {
	b := newBrokers()
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		b.answers(func(context.Context) error { time.Sleep(100 * time.Millisecond); return nil })
		var all sync.WaitGroup
		for i, name := range []string{"a", "b", "b", "d"} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if err := c.Alter(t.Context(), brokerclient.Apply, brokerclient.TopicChange{Name: name}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		expectAsked(t, "b twice", b, "alter a", "alter b d", "alter b")
	})
}

func TestBrokersThatDoNotAnswerAChangeHoldNobodyUp(t *testing.T) {
	b := newBrokers()
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		b.answers(func(ctx context.Context) error {
			select {
			case <-time.After(15 * time.Second):
				return errAway
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		took := func(name string) time.Duration {
			begin := time.Now()
			err := c.Create(t.Context(), newTopic(name, 1))
			var no *brokerclient.Refusal
			if err == nil || errors.As(err, &no) {
				t.Errorf("%s: %v", name, err)
			}
			return time.Since(begin)
		}
		go took("a")
		time.Sleep(time.Millisecond)
		if d := took("b"); d != Patience {
			t.Errorf("one that comes early waits %v", d)
		}
		if d := took("d"); d != 0 {
			t.Errorf("one that comes late waits %v", d)
		}
		b.answers(nil)
		time.Sleep(20 * time.Second)
		if err := c.Create(t.Context(), newTopic("e", 1)); err != nil {
			t.Error(err)
		}
		expectAsked(t, "what nobody waits for is not sent", b, "create a", "create e")
	})
}

func TestEveryChangeGoesItsWay(t *testing.T) {
	b := newBrokers()
	inBubble(t, b, func(t *testing.T, c *Cluster) {
		ctx := t.Context()
		for _, err := range []error{
			c.Create(ctx, newTopic("a", 1)),
			c.Grow(ctx, brokerclient.Validate, brokerclient.Growth{Name: "a", Partitions: 2}),
			c.Grow(ctx, brokerclient.Apply, brokerclient.Growth{Name: "a", Partitions: 2}),
			c.Alter(ctx, brokerclient.Validate, brokerclient.TopicChange{Name: "a"}),
			c.Alter(ctx, brokerclient.Apply, brokerclient.TopicChange{Name: "a"}),
			c.Reassign(ctx, brokerclient.Reassignment{Name: "a"}),
			c.Delete(ctx, brokerclient.DoomedTopic{Name: "a"}),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		expectAsked(t, "all", b, "create a", "judge growth a", "grow a", "judge settings a", "alter a", "reassign a", "delete a")
	})
}
