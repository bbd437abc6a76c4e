package handler

import (
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/coordinator"
)

// The group APIs are answered by package coordinator, which says in its own files what each does:
//
//	OffsetCommit 2-10 · OffsetFetch 1-10 · JoinGroup 0-9 · Heartbeat 0-4 · LeaveGroup 0-5 · SyncGroup 0-5 ·
//	DescribeGroups 0-6 · ListGroups 0-5 · DeleteGroups 0-3 · OffsetDelete 0
func (h *Handler) group(c *call, req kmsg.Request) *conn.Reply {
	reply := conn.Pending() // it may take minutes: package coordinator keeps nothing of the request's bytes
	asked, _ := req.(*kmsg.DescribeGroupsRequest)
	h.Groups.Handle(req, caller(c), func(resp kmsg.Response) {
		if described, ok := resp.(*kmsg.DescribeGroupsResponse); ok && asked != nil && asked.IncludeAuthorizedOperations {
			for i := range described.Groups {
				described.Groups[i].AuthorizedOperations = groupOperations
			}
		}
		c.complete(reply, resp)
	})
	return reply
}

func caller(c *call) coordinator.Caller {
	from := coordinator.Caller{ClientID: c.Header.ClientID}
	if host, _, err := net.SplitHostPort(c.Conn.Remote.String()); err == nil {
		from.ClientHost = "/" + host
	}
	return from
}

// offsetsTopicSettings are those of the topic of committed offsets, as Kafka makes it.
func offsetsTopicSettings(segmentBytes string, compression string) [][2]string {
	return [][2]string{
		{"cleanup.policy", "compact"},
		{"compression.type", compression},
		{"segment.bytes", segmentBytes},
	}
}
