package metactl

import (
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refuse answers a whole request with one code: at the top of the reply where there is a place, else with every entry.
func refuse(req kmsg.Request, code kafka.ErrorCode) kmsg.Response {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	message := &refusal{code: code, message: code.Err().Error()}
	switch resp := resp.(type) {
	case *kmsg.BrokerRegistrationResponse:
		resp.ErrorCode = int16(code)
	case *kmsg.BrokerHeartbeatResponse:
		resp.ErrorCode = int16(code)
	case *kmsg.UnregisterBrokerResponse:
		resp.ErrorCode, resp.ErrorMessage = message.fields()
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = int16(code)
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = int16(code)
	case *LogEndsResponse:
		resp.ErrorCode = int16(code)
	case *kmsg.ElectLeadersResponse:
		resp.ErrorCode = int16(code)
	case *kmsg.AlterPartitionAssignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = message.fields()
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = message.fields()
	case *kmsg.CreateTopicsResponse:
		for _, rt := range req.(*kmsg.CreateTopicsRequest).Topics {
			resp.Topics = append(resp.Topics, refusedTopic(rt.Topic, message))
		}
	case *kmsg.DeleteTopicsResponse:
		for _, rt := range deletedTopics(req.(*kmsg.DeleteTopicsRequest)) {
			resp.Topics = append(resp.Topics, notDeleted(rt, message))
		}
	case *kmsg.CreatePartitionsResponse:
		for _, rt := range req.(*kmsg.CreatePartitionsRequest).Topics {
			resp.Topics = append(resp.Topics, createdPartitions(rt.Topic, message))
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, r := range req.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			resp.Resources = append(resp.Resources, alteredIncrementally(r.ResourceType, r.ResourceName, message))
		}
	case *kmsg.AlterConfigsResponse:
		for _, r := range req.(*kmsg.AlterConfigsRequest).Resources {
			resp.Resources = append(resp.Resources, altered(r.ResourceType, r.ResourceName, message))
		}
	}
	return resp
}

// refusal is why one entry of a request is not done; nil is success.
type refusal struct {
	code    kafka.ErrorCode
	message string
}

func refused(code kafka.ErrorCode, format string, args ...any) *refusal {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// fields are the error code and message of a reply's entry.
func (r *refusal) fields() (code int16, message *string) {
	if r == nil {
		return 0, nil
	}
	return int16(r.code), &r.message
}

func nodes(ids []int32) []kafka.NodeID {
	out := make([]kafka.NodeID, len(ids))
	for i, id := range ids {
		out[i] = kafka.NodeID(id)
	}
	return out
}

func ids(nodes []kafka.NodeID) []int32 {
	out := make([]int32, len(nodes))
	for i, n := range nodes {
		out[i] = int32(n)
	}
	return out
}
