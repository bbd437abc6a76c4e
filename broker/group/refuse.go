package group

import (
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Refuse makes the answer to a request that no machine could decide: one code wherever the response has a place for it.
func Refuse(req kmsg.Request, code kafka.ErrorCode) kmsg.Response {
	c := int16(code)
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		resp := joinResponse(req)
		resp.MemberID, resp.ErrorCode = req.MemberID, c
		return resp
	case *kmsg.SyncGroupRequest:
		resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
		resp.ErrorCode = c
		return resp
	case *kmsg.HeartbeatRequest:
		resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = c
		return resp
	case *kmsg.LeaveGroupRequest:
		resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
		resp.ErrorCode = c
		return resp
	case *kmsg.OffsetCommitRequest:
		return refuseCommit(req, c)
	case *kmsg.OffsetFetchRequest:
		return refuseFetch(req, c)
	case *kmsg.OffsetDeleteRequest:
		resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
		resp.ErrorCode = c
		return resp
	case *kmsg.DescribeGroupsRequest:
		resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, id := range req.Groups {
			rg := kmsg.NewDescribeGroupsResponseGroup()
			rg.Group, rg.ErrorCode = id, c
			resp.Groups = append(resp.Groups, rg)
		}
		return resp
	case *kmsg.ListGroupsRequest:
		resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
		resp.ErrorCode = c
		return resp
	case *kmsg.DeleteGroupsRequest:
		resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
		for _, id := range req.Groups {
			rg := kmsg.NewDeleteGroupsResponseGroup()
			rg.Group, rg.ErrorCode = id, c
			resp.Groups = append(resp.Groups, rg)
		}
		return resp
	}
	panic(fmt.Sprintf("group: no refusal for %T", req))
}

func refuseCommit(req *kmsg.OffsetCommitRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	for i := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
		for _, p := range req.Topics[i].Partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func refuseFetch(req *kmsg.OffsetFetchRequest, code int16) kmsg.Response {
	const topLevelCode, severalGroups = 2, 8
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	switch {
	case req.Version >= severalGroups:
		for i := range req.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group, rg.ErrorCode = req.Groups[i].Group, code
			resp.Groups = append(resp.Groups, rg)
		}
	case req.Version >= topLevelCode:
		resp.ErrorCode = code
	default:
		for i := range req.Topics {
			rt := kmsg.NewOffsetFetchResponseTopic()
			rt.Topic = req.Topics[i].Topic
			for _, p := range req.Topics[i].Partitions {
				rp := kmsg.NewOffsetFetchResponseTopicPartition()
				rp.Partition, rp.Offset, rp.ErrorCode = p, int64(kafka.NoOffset), code
				rp.Metadata = kmsg.StringPtr("")
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return resp
}
