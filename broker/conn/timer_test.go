package conn

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

type timings map[kmsg.Key]time.Duration

func (m timings) Replied(key kmsg.Key, took time.Duration) { m[key] = took }

func TestRepliesAreTimedFromTheirLastByteToTheirCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := timings{}
		request := func(key kmsg.Key) *Request {
			return NewRequest(wire.RequestHeader{Key: key}, nil, nil, time.Now())
		}
		at := request(kmsg.Metadata)
		time.Sleep(time.Millisecond)
		Answer(nil).Time(at, got)

		later := Pending()
		later.Time(request(kmsg.Fetch), got)
		if _, told := got[kmsg.Fetch]; told {
			t.Error("told before it is complete")
		}
		time.Sleep(time.Second)
		later.CompleteNone()
		if got[kmsg.Metadata] != time.Millisecond || got[kmsg.Fetch] != time.Second {
			t.Errorf("took %v, want 1ms and 1s", got)
		}
	})
}
