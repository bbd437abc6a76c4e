package handler

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// recorder is a controller that keeps what it is asked, and answers with nothing.
type recorder struct{ asked chan kmsg.Request }

func (r recorder) Do(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
	r.asked <- req
	return req.ResponseKind(), nil
}

func (recorder) Status() quorum.Status { return quorum.Status{} }

// A controller in the same process gets the request itself, one elsewhere gets its encoding: both see the same topics,
// whatever version the client speaks.
func TestDeleteTopicsNamesEachTopicOnceToTheController(t *testing.T) {
	for version := int16(1); version <= 6; version++ {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version = version
		if version < 6 {
			req.TopicNames = []string{"a", "b"}
		} else {
			for _, name := range []string{"a", "b"} {
				rt := kmsg.NewDeleteTopicsRequestTopic()
				rt.Topic = kmsg.StringPtr(name)
				req.Topics = append(req.Topics, rt)
			}
		}
		controller := recorder{make(chan kmsg.Request, 1)}
		h := &Handler{Options: Options{Controller: controller}}
		h.deleteTopics(&call{Request: conn.NewRequest(wire.RequestHeader{Key: kmsg.DeleteTopics, Version: version}, nil, &conn.Info{Context: t.Context()}, time.Time{})}, req)
		got := (<-controller.asked).(*kmsg.DeleteTopicsRequest)
		if len(got.Topics) != 2 || len(got.TopicNames) != 0 || *got.Topics[0].Topic != "a" || *got.Topics[1].Topic != "b" {
			t.Errorf("version %d: the controller is asked for %d topics and %v", version, len(got.Topics), got.TopicNames)
		}
	}
}
