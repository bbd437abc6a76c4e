package coordinator

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/fairlead-io/fairlead/broker/group"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handle decides a request of the group APIs at any version that is served; reply gets the response, with the request's
// version, exactly once: perhaps before Handle returns, perhaps after minutes (JoinGroup). The request belongs to Groups
// from then on, but the buffer that it was decoded from may be used again when Handle returns, if it was decoded by
// ReadFrom (not UnsafeReadFrom).
//
//	JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit OffsetFetch OffsetDelete DescribeGroups ListGroups DeleteGroups
//
// Topics are checked here: a topic that is not there gets 3 by name and 100 by id. Who may do what is the handler's.
func (g *Groups) Handle(req kmsg.Request, c Caller, reply Reply) {
	from := group.Caller{ClientID: c.ClientID, ClientHost: c.ClientHost}
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		from.NewID = g.o.NewID()
		for i := range req.Protocols {
			req.Protocols[i].Metadata = bytes.Clone(req.Protocols[i].Metadata)
		}
		g.one(req.Group, req, from, reply)
	case *kmsg.SyncGroupRequest:
		for i := range req.GroupAssignment {
			req.GroupAssignment[i].MemberAssignment = bytes.Clone(req.GroupAssignment[i].MemberAssignment)
		}
		g.one(req.Group, req, from, reply)
	case *kmsg.HeartbeatRequest:
		g.one(req.Group, req, from, reply)
	case *kmsg.LeaveGroupRequest:
		g.one(req.Group, req, from, reply)
	case *kmsg.OffsetCommitRequest:
		g.offsetCommit(req, from, reply)
	case *kmsg.OffsetFetchRequest:
		g.offsetFetch(req, from, reply)
	case *kmsg.OffsetDeleteRequest:
		g.offsetDelete(req, from, reply)
	case *kmsg.DescribeGroupsRequest:
		g.describeGroups(req, from, reply)
	case *kmsg.DeleteGroupsRequest:
		g.deleteGroups(req, from, reply)
	case *kmsg.ListGroupsRequest:
		g.listGroups(req, from, reply)
	default:
		panic(fmt.Sprintf("coordinator: no group request: %T", req))
	}
}

// partitionOf is the partition that holds the group; false: __consumer_offsets is not there.
func (g *Groups) partitionOf(id string) (int32, bool) {
	n := g.o.Topics.Partitions(OffsetsTopic)
	if n <= 0 {
		return 0, false
	}
	return PartitionFor(id, n), true
}

// one gives a request to the shard of its group.
func (g *Groups) one(id string, req kmsg.Request, from group.Caller, reply Reply) {
	var s *shard
	if p, ok := g.partitionOf(id); ok {
		s = g.serving(p)
	}
	if s == nil {
		reply(refuse(req, kafka.NotCoordinator))
		return
	}
	s.request(req, from, reply)
}

// split lists the groups' places in the request by the shard that holds them, shards in order of first use. Groups
// without a shard here are under nil. A group that is named again is doubled and in no shard's list: what is told of one may be
// large, and a request has room to name it a million times.
func (g *Groups) split(ids []string) (order []*shard, places map[*shard][]int, doubled []int) {
	places = map[*shard][]int{}
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		if seen[id] {
			doubled = append(doubled, i)
			continue
		}
		seen[id] = true
		var s *shard
		if p, ok := g.partitionOf(id); ok {
			s = g.serving(p)
		}
		if places[s] == nil {
			order = append(order, s)
		}
		places[s] = append(places[s], i)
	}
	return order, places, doubled
}

// ask gives a part of a request to its shard.
func ask(s *shard, req kmsg.Request, from group.Caller, reply Reply) {
	if s == nil {
		reply(refuse(req, kafka.NotCoordinator))
		return
	}
	s.request(req, from, reply)
}

// gather waits for the answers to the parts of a request.
type gather struct {
	mu   sync.Mutex
	left int
	done func()
}

// take runs fill under the lock, then done without it if it was the last part.
func (ga *gather) take(fill func()) {
	ga.mu.Lock()
	fill()
	ga.left--
	last := ga.left == 0
	ga.mu.Unlock()
	if last {
		ga.done()
	}
}

func (g *Groups) describeGroups(req *kmsg.DescribeGroupsRequest, from group.Caller, reply Reply) {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(req.Groups))
	order, places, doubled := g.split(req.Groups)
	for _, i := range doubled {
		resp.Groups[i] = kmsg.NewDescribeGroupsResponseGroup()
		resp.Groups[i].Group, resp.Groups[i].ErrorCode = req.Groups[i], int16(kafka.InvalidRequest)
	}
	if len(order) == 0 {
		reply(resp)
		return
	}
	ga := &gather{left: len(order), done: func() { reply(resp) }}
	for _, s := range order {
		part := &kmsg.DescribeGroupsRequest{Version: req.Version}
		for _, i := range places[s] {
			part.Groups = append(part.Groups, req.Groups[i])
		}
		ask(s, part, from, func(r kmsg.Response) {
			ga.take(func() {
				for n, i := range places[s] {
					resp.Groups[i] = r.(*kmsg.DescribeGroupsResponse).Groups[n]
				}
			})
		})
	}
}

func (g *Groups) deleteGroups(req *kmsg.DeleteGroupsRequest, from group.Caller, reply Reply) {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(req.Groups))
	order, places, doubled := g.split(req.Groups)
	for _, i := range doubled {
		resp.Groups[i] = kmsg.NewDeleteGroupsResponseGroup()
		resp.Groups[i].Group, resp.Groups[i].ErrorCode = req.Groups[i], int16(kafka.InvalidRequest)
	}
	if len(order) == 0 {
		reply(resp)
		return
	}
	ga := &gather{left: len(order), done: func() { reply(resp) }}
	for _, s := range order {
		part := &kmsg.DeleteGroupsRequest{Version: req.Version}
		for _, i := range places[s] {
			part.Groups = append(part.Groups, req.Groups[i])
		}
		ask(s, part, from, func(r kmsg.Response) {
			ga.take(func() {
				for n, i := range places[s] {
					resp.Groups[i] = r.(*kmsg.DeleteGroupsResponse).Groups[n]
				}
			})
		})
	}
}

// listGroups asks all shards. One that is loading makes the answer 14: a list that lacks groups looks like a true one.
func (g *Groups) listGroups(req *kmsg.ListGroupsRequest, from group.Caller, reply Reply) {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	shards := g.sorted()
	if g.fenced.Load() {
		reply(refuse(req, kafka.CoordinatorNotAvailable))
		return
	}
	if len(shards) == 0 {
		reply(resp)
		return
	}
	parts := make([]*kmsg.ListGroupsResponse, len(shards))
	ga := &gather{left: len(shards), done: func() {
		for _, p := range parts {
			if code := kafka.ErrorCode(p.ErrorCode); code != kafka.None && code != kafka.NotCoordinator {
				resp.ErrorCode, resp.Groups = p.ErrorCode, nil
				break
			}
			resp.Groups = append(resp.Groups, p.Groups...)
		}
		reply(resp)
	}}
	for i, s := range shards {
		part := &kmsg.ListGroupsRequest{Version: req.Version, StatesFilter: req.StatesFilter, TypesFilter: req.TypesFilter}
		s.request(part, from, func(r kmsg.Response) {
			ga.take(func() { parts[i] = r.(*kmsg.ListGroupsResponse) })
		})
	}
}
