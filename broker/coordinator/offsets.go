package coordinator

import (
	"github.com/fairlead-io/fairlead/broker/group"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions from which topics are named by id.
const (
	commitByTopicID = 10
	fetchByTopicID  = 10
	fetchGroups     = 8
)

// offsetCommit resolves the topics and commits for the topics and partitions that are there.
func (g *Groups) offsetCommit(req *kmsg.OffsetCommitRequest, from group.Caller, reply Reply) {
	part := *req
	part.Topics = nil
	var places []int // of the part's topics in the request
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	refusals := false
	for i := range req.Topics {
		t := req.Topics[i]
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		var code kafka.ErrorCode
		t.Topic, t.TopicID, code = g.resolve(t.Topic, t.TopicID, req.Version >= commitByTopicID)
		t.Partitions, rt.Partitions = g.splitCommit(t, code)
		refusals = refusals || len(rt.Partitions) > 0
		resp.Topics = append(resp.Topics, rt)
		if len(t.Partitions) > 0 || code == kafka.None && len(rt.Partitions) == 0 {
			part.Topics = append(part.Topics, t)
			places = append(places, i)
		}
	}
	if !refusals {
		g.one(req.Group, &part, from, reply)
		return
	}
	if len(places) == 0 {
		reply(resp)
		return
	}
	g.one(req.Group, &part, from, func(r kmsg.Response) {
		for n, i := range places {
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, r.(*kmsg.OffsetCommitResponse).Topics[n].Partitions...)
		}
		reply(resp)
	})
}

// splitCommit gives the partitions of a topic that can be committed, and the refusals of the others: all of them with the topic's
// code, or those that the topic does not have.
func (g *Groups) splitCommit(t kmsg.OffsetCommitRequestTopic, code kafka.ErrorCode) (kept []kmsg.OffsetCommitRequestTopicPartition, refused []kmsg.OffsetCommitResponseTopicPartition) {
	var n int32
	if code == kafka.None {
		n = g.o.Topics.Partitions(t.Topic)
	}
	for _, p := range t.Partitions {
		why := code
		if code == kafka.None && (p.Partition < 0 || p.Partition >= n) {
			why = kafka.UnknownTopicOrPartition
		}
		if why == kafka.None {
			kept = append(kept, p)
			continue
		}
		rp := kmsg.NewOffsetCommitResponseTopicPartition()
		rp.Partition, rp.ErrorCode = p.Partition, int16(why)
		refused = append(refused, rp)
	}
	return kept, refused
}

// resolve completes a topic's name and id from the one that the request carries.
func (g *Groups) resolve(name string, id kafka.TopicID, byID bool) (string, kafka.TopicID, kafka.ErrorCode) {
	if byID {
		name, ok := g.o.Topics.TopicName(id)
		if !ok || id.IsZero() {
			return "", id, kafka.UnknownTopicID
		}
		return name, id, kafka.None
	}
	id, ok := g.o.Topics.TopicID(name)
	if !ok {
		return name, kafka.TopicID{}, kafka.UnknownTopicOrPartition
	}
	return name, id, kafka.None
}

// offsetFetch turns the request into the form with groups, topic names and ids, asks the shards, and turns the answers back.
func (g *Groups) offsetFetch(req *kmsg.OffsetFetchRequest, from group.Caller, reply Reply) {
	groups := req.Groups
	if req.Version < fetchGroups {
		one := kmsg.NewOffsetFetchRequestGroup()
		one.Group = req.Group
		if req.Topics != nil {
			one.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
		}
		for i := range req.Topics {
			one.Topics[i].Topic, one.Topics[i].Partitions = req.Topics[i].Topic, req.Topics[i].Partitions
		}
		groups = []kmsg.OffsetFetchRequestGroup{one}
	}
	ids := make([]string, len(groups))
	for i := range groups {
		ids[i] = groups[i].Group
	}
	answers := make([]kmsg.OffsetFetchResponseGroup, len(groups))
	order, places, doubled := g.split(ids)
	for _, i := range doubled {
		answers[i] = kmsg.NewOffsetFetchResponseGroup()
		answers[i].Group, answers[i].ErrorCode = ids[i], int16(kafka.InvalidRequest)
	}
	finish := func() { reply(fetchResponse(req, answers)) }
	if len(order) == 0 {
		finish()
		return
	}
	ga := &gather{left: len(order), done: finish}
	for _, s := range order {
		part := &kmsg.OffsetFetchRequest{Version: fetchByTopicID, RequireStable: req.RequireStable}
		for _, i := range places[s] {
			part.Groups = append(part.Groups, g.resolveFetch(groups[i], req.Version >= fetchByTopicID))
		}
		ask(s, part, from, func(r kmsg.Response) {
			ga.take(func() {
				for n, i := range places[s] {
					answers[i] = g.completeFetch(groups[i], r.(*kmsg.OffsetFetchResponse).Groups[n], req.Version >= fetchByTopicID)
				}
			})
		})
	}
}

// resolveFetch leaves out topics with an id that is not known. By name all are kept: a topic that is not there has no
// offset, which is no error.
func (g *Groups) resolveFetch(rg kmsg.OffsetFetchRequestGroup, byID bool) kmsg.OffsetFetchRequestGroup {
	if rg.Topics == nil {
		return rg
	}
	topics := make([]kmsg.OffsetFetchRequestGroupTopic, 0, len(rg.Topics))
	for _, t := range rg.Topics {
		var code kafka.ErrorCode
		if t.Topic, t.TopicID, code = g.resolve(t.Topic, t.TopicID, byID); code != kafka.UnknownTopicID {
			topics = append(topics, t)
		}
	}
	rg.Topics = topics
	return rg
}

// completeFetch puts topics with an unknown id back in their places, and drops, of all topics of a group, those of another
// life.
func (g *Groups) completeFetch(asked kmsg.OffsetFetchRequestGroup, got kmsg.OffsetFetchResponseGroup, byID bool) kmsg.OffsetFetchResponseGroup {
	if got.ErrorCode != 0 {
		return got
	}
	topics := make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(got.Topics))
	if asked.Topics == nil {
		for _, t := range got.Topics {
			id, ok := g.o.Topics.TopicID(t.Topic)
			if ok && (t.TopicID == [16]byte{} || t.TopicID == id) {
				t.TopicID = id
				topics = append(topics, t)
			}
		}
		got.Topics = topics
		return got
	}
	for _, t := range asked.Topics {
		if len(got.Topics) > 0 && (byID && got.Topics[0].TopicID == t.TopicID || !byID && got.Topics[0].Topic == t.Topic) {
			topics = append(topics, got.Topics[0])
			got.Topics = got.Topics[1:]
			continue
		}
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.TopicID = t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			rp.Partition, rp.Offset, rp.ErrorCode = p, int64(kafka.NoOffset), int16(kafka.UnknownTopicID)
			rp.Metadata = kmsg.StringPtr("")
			rt.Partitions = append(rt.Partitions, rp)
		}
		topics = append(topics, rt)
	}
	got.Topics = topics
	return got
}

// fetchResponse gives the answers the form of the request's version.
func fetchResponse(req *kmsg.OffsetFetchRequest, groups []kmsg.OffsetFetchResponseGroup) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	if req.Version >= fetchGroups {
		resp.Groups = groups
		return resp
	}
	g := groups[0]
	if g.ErrorCode != 0 {
		return group.Refuse(req, kafka.ErrorCode(g.ErrorCode))
	}
	for _, gt := range g.Topics {
		rt := kmsg.NewOffsetFetchResponseTopic()
		rt.Topic = gt.Topic
		for _, gp := range gt.Partitions {
			rp := kmsg.NewOffsetFetchResponseTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata = gp.Partition, gp.Offset, gp.LeaderEpoch, gp.Metadata
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// offsetDelete deletes offsets of the topics that are there.
func (g *Groups) offsetDelete(req *kmsg.OffsetDeleteRequest, from group.Caller, reply Reply) {
	part := *req
	part.Topics = nil
	known := make([]bool, len(req.Topics))
	for i := range req.Topics {
		if _, known[i] = g.o.Topics.TopicID(req.Topics[i].Topic); known[i] {
			part.Topics = append(part.Topics, req.Topics[i])
		}
	}
	g.one(req.Group, &part, from, func(r kmsg.Response) {
		got := r.(*kmsg.OffsetDeleteResponse)
		if got.ErrorCode != 0 {
			reply(got)
			return
		}
		resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
		for i := range req.Topics {
			if known[i] {
				resp.Topics = append(resp.Topics, got.Topics[0])
				got.Topics = got.Topics[1:]
				continue
			}
			rt := kmsg.NewOffsetDeleteResponseTopic()
			rt.Topic = req.Topics[i].Topic
			for _, p := range req.Topics[i].Partitions {
				rp := kmsg.NewOffsetDeleteResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, int16(kafka.UnknownTopicOrPartition)
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		reply(resp)
	})
}
