package handler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// forwarded are requests that the controller answers, each with one element, and how to read the first code of the response.
func forwarded() []struct {
	req  kmsg.Request
	code func(kmsg.Response) int16
} {
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}}
	deletion := kmsg.NewPtrDeleteTopicsRequest()
	deletion.TopicNames, deletion.Topics = []string{"t"}, nil
	partitions := kmsg.NewPtrCreatePartitionsRequest()
	partitions.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 2}}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	incremental := kmsg.NewPtrIncrementalAlterConfigsRequest()
	incremental.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: 2, ResourceName: "t"}}
	alter := kmsg.NewPtrAlterConfigsRequest()
	alter.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: 2, ResourceName: "t"}}
	return []struct {
		req  kmsg.Request
		code func(kmsg.Response) int16
	}{
		{create, func(r kmsg.Response) int16 { return r.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode }},
		{deletion, func(r kmsg.Response) int16 { return r.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode }},
		{partitions, func(r kmsg.Response) int16 { return r.(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode }},
		{elect, func(r kmsg.Response) int16 { return r.(*kmsg.ElectLeadersResponse).Topics[0].Partitions[0].ErrorCode }},
		{incremental, func(r kmsg.Response) int16 {
			return r.(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode
		}},
		{alter, func(r kmsg.Response) int16 { return r.(*kmsg.AlterConfigsResponse).Resources[0].ErrorCode }},
		{kmsg.NewPtrAlterPartitionAssignmentsRequest(), func(r kmsg.Response) int16 { return r.(*kmsg.AlterPartitionAssignmentsResponse).ErrorCode }},
		{kmsg.NewPtrListPartitionReassignmentsRequest(), func(r kmsg.Response) int16 { return r.(*kmsg.ListPartitionReassignmentsResponse).ErrorCode }},
		{kmsg.NewPtrUnregisterBrokerRequest(), func(r kmsg.Response) int16 { return r.(*kmsg.UnregisterBrokerResponse).ErrorCode }},
	}
}

// TestRequestsForTheControllerAreForwarded at the highest version, and answered at the client's; without an answer in time, and
// without a controller, the client is told to come again.
func TestRequestsForTheControllerAreForwarded(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, c := range forwarded() {
			key := kmsg.Key(c.req.Key())
			for _, version := range versions(key) {
				if key == kmsg.DeleteTopics && version >= 6 {
					c.req.(*kmsg.DeleteTopicsRequest).Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("t")}}
				}
				what := fmt.Sprintf("%s, version %d", key.Name(), version)
				c.req.SetVersion(version)
				failure := error(nil)
				w.controller.answer = func(_ context.Context, r kmsg.Request) (kmsg.Response, error) {
					if r.GetVersion() != r.MaxVersion() {
						t.Errorf("%s: forwarded at version %d", what, r.GetVersion())
					}
					if d, ok := r.(*kmsg.DeleteTopicsRequest); ok && (len(d.Topics) != 1 || *d.Topics[0].Topic != "t") {
						t.Errorf("%s: forwarded %+v", what, d)
					}
					return r.ResponseKind(), failure
				}
				w.send(c.req).response()

				failure = errors.New("no leader is known")
				w.code(what+", no controller", c.code(w.send(c.req).response()), kafka.NotController)
				w.controller.answer = nil
				began := time.Now()
				w.code(what+", no answer", c.code(w.send(c.req).response()), kafka.RequestTimedOut)
				if took := time.Since(began); took < time.Second || took > maxControllerWait {
					t.Errorf("%s: no answer within %v", what, took)
				}
			}
		}
	})
}

// TestTheClientsTimeIsBounded: at least a second, at most maxControllerWait.
func TestTheClientsTimeIsBounded(t *testing.T) {
	for millis, want := range map[int32]time.Duration{-1: time.Second, 0: time.Second, 5000: 5 * time.Second, 1<<31 - 1: maxControllerWait} {
		if got := clientTimeout(millis); got != want {
			t.Errorf("%d ms: %v, want %v", millis, got, want)
		}
	}
}

// TestAClientThatIsGoneIsNotWaitedFor: the wait for the controller ends with the connection.
func TestAClientThatIsGoneIsNotWaitedFor(t *testing.T) {
	inWorld(t, func(w *world) {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = 7, 60_000
		a := w.send(req)
		if !a.pending() {
			t.Fatal("answered")
		}
		w.disconnect()
		if a.pending() {
			t.Error("still waiting")
		}
	})
}
