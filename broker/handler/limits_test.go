package handler

import (
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// TestEveryWaitHasItsLimit: a request that nobody answers is answered at its limit, whatever time the client would give.
func TestEveryWaitHasItsLimit(t *testing.T) {
	poll := fetchFrom(12, 0, "t")
	poll.MaxWaitMillis, poll.MinBytes = 1<<31-1, 1<<31-1
	coordinator := kmsg.NewPtrFindCoordinatorRequest()
	coordinator.CoordinatorKey = "g"
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 7, 1<<31-1
	topic := metadataOf(12, "new")
	topic.AllowAutoTopicCreation = true
	for _, c := range []struct {
		name string
		req  kmsg.Request
		want time.Duration
	}{
		{"maxFetchWait", poll, maxFetchWait},
		{"autoCreateWait", topic, autoCreateWait},
		{"offsetsTopicWait", coordinator, offsetsTopicWait},
		{"initProducerIDWait", initProducerID(4), initProducerIDWait},
		{"describeQuorumWait", kmsg.NewPtrDescribeQuorumRequest(), describeQuorumWait},
		{"maxControllerWait", create, maxControllerWait},
		{"controllerTimeout", kmsg.NewPtrUnregisterBrokerRequest(), controllerTimeout * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.set("auto.create.topics.enable", "true")
				w.topic("t", on(self))
				began := time.Now()
				w.send(c.req).response()
				if took := time.Since(began); took != c.want {
					t.Errorf("answered after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// TestFetchSessionsHaveALimitedNumberOfPlaces: beyond it a fetch is served without session.
func TestFetchSessionsHaveALimitedNumberOfPlaces(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		slots := int(w.broker.Network.FetchSessionSlots)
		for i := range slots + 3 {
			req := fetchFrom(12, 0, "t")
			req.SessionEpoch = 0
			resp := ask[*kmsg.FetchResponse](w, req)
			if resp.ErrorCode != 0 || (resp.SessionID != 0) != (i < slots) {
				t.Fatalf("fetch %d of %d places: session %d, %v", i, slots, resp.SessionID, kafka.ErrorCode(resp.ErrorCode))
			}
		}
	})
}

// TestMetadataOfManyTopics: missing topics are gathered in time that grows with their number; were it with its square, this would take hours.
func TestMetadataOfManyTopics(t *testing.T) {
	inWorld(t, func(w *world) {
		w.set("auto.create.topics.enable", "true")
		const topics = 300_000
		req := metadataOf(12)
		req.AllowAutoTopicCreation = true
		for i := range topics {
			mt := kmsg.NewMetadataRequestTopic()
			mt.Topic = kmsg.StringPtr(strconv.Itoa(i))
			req.Topics = append(req.Topics, mt, mt)
		}
		if n := len(ask[*kmsg.MetadataResponse](w, req).Topics); n != topics {
			t.Errorf("%d topics are answered, want %d", n, topics)
		}
	})
}
