package brokerclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// The changes of topics go in batches: one request for many topics. Each gives one error a topic, in the order of the question:
// nil when it was done, a [*Refusal], or another error when the answer leaves the topic out. The second result is for the
// request as a whole: nothing is known then, the change may have been made or not.

// Purpose is what a request is for.
type Purpose int

// The purposes.
const (
	Apply    Purpose = iota
	Validate         // the broker says whether it would do it
)

// NewTopic is a topic to create.
type NewTopic struct {
	Name       string
	Partitions int32 // -1: the cluster's default
	Replicas   int32 // -1: the cluster's default
	Settings   map[string]string
}

// CreateTopics creates topics.
func (c *Client) CreateTopics(ctx context.Context, topics []NewTopic) ([]error, error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(controllerLimit.Milliseconds())
	for _, t := range topics {
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.Name, t.Partitions, int16(t.Replicas)
		for _, name := range slices.Sorted(maps.Keys(t.Settings)) {
			rc := kmsg.NewCreateTopicsRequestTopicConfig()
			rc.Name, rc.Value = name, kadm.StringPtr(t.Settings[name])
			rt.Configs = append(rt.Configs, rc)
		}
		req.Topics = append(req.Topics, rt)
	}
	resp, err := do[*kmsg.CreateTopicsResponse](ctx, c, "creation of topics", req)
	if err != nil {
		return nil, err
	}
	got := answers{}
	for _, t := range resp.Topics {
		got[t.Topic] = refusal(t.ErrorCode, t.ErrorMessage)
	}
	return inOrder(got, topics, func(t NewTopic) string { return t.Name }), nil
}

// DoomedTopic is a topic to delete: by its id when that is given, otherwise by its name.
type DoomedTopic struct {
	Name string
	ID   kafka.TopicID
}

// DeleteTopics deletes topics with their records.
func (c *Client) DeleteTopics(ctx context.Context, topics []DoomedTopic) ([]error, error) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(controllerLimit.Milliseconds())
	key := func(t DoomedTopic) string {
		if t.ID.IsZero() {
			return t.Name
		}
		return t.ID.String()
	}
	byKey := map[string]bool{}
	for _, t := range topics {
		rt := kmsg.NewDeleteTopicsRequestTopic()
		if t.ID.IsZero() {
			rt.Topic = kmsg.StringPtr(t.Name)
		} else {
			rt.TopicID = t.ID
			byKey[key(t)] = true
		}
		req.TopicNames = append(req.TopicNames, t.Name) // for brokers of before v6, which know no ids
		req.Topics = append(req.Topics, rt)
	}
	resp, err := do[*kmsg.DeleteTopicsResponse](ctx, c, "deletion of topics", req)
	if err != nil {
		return nil, err
	}
	got := answers{}
	for _, t := range resp.Topics { // success carries both name and id, refusal what was asked for
		no := refusal(t.ErrorCode, t.ErrorMessage)
		if id := kafka.TopicID(t.TopicID); byKey[id.String()] {
			got[id.String()] = no
		} else {
			got[text(t.Topic)] = no
		}
	}
	return inOrder(got, topics, key), nil
}

// Growth is a topic that shall have more partitions.
type Growth struct {
	Name       string
	Partitions int32 // in all
}

// GrowTopics adds partitions.
func (c *Client) GrowTopics(ctx context.Context, purpose Purpose, topics []Growth) ([]error, error) {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(controllerLimit.Milliseconds())
	req.ValidateOnly = purpose == Validate
	for _, t := range topics {
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = t.Name, t.Partitions
		req.Topics = append(req.Topics, rt)
	}
	resp, err := do[*kmsg.CreatePartitionsResponse](ctx, c, "growth of topics", req)
	if err != nil {
		return nil, err
	}
	got := answers{}
	for _, t := range resp.Topics {
		got[t.Topic] = refusal(t.ErrorCode, t.ErrorMessage)
	}
	return inOrder(got, topics, func(t Growth) string { return t.Name }), nil
}

// TopicChange is a change of a topic's settings.
type TopicChange struct {
	Name string
	SettingsChange
}

// AlterTopics changes settings: of each topic all or none.
func (c *Client) AlterTopics(ctx context.Context, purpose Purpose, topics []TopicChange) ([]error, error) {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = purpose == Validate
	for _, t := range topics {
		req.Resources = append(req.Resources, t.resource(kmsg.ConfigResourceTypeTopic, t.Name))
	}
	resp, err := do[*kmsg.IncrementalAlterConfigsResponse](ctx, c, "change of topics' settings", req)
	if err != nil {
		return nil, err
	}
	got := answers{}
	for _, r := range resp.Resources {
		got[r.ResourceName] = refusal(r.ErrorCode, r.ErrorMessage)
	}
	return inOrder(got, topics, func(t TopicChange) string { return t.Name }), nil
}

// Reassignment gives partitions of one topic other replicas, by partition, the preferred leader first. Brokers copy the records
// and only then let the old replicas go; [Client.Moves] shows how far they are.
type Reassignment struct {
	Name     string
	Replicas map[int32][]int32
}

// ReassignTopics begins to move replicas. A topic's error is that of its lowest partition that has one: the moves of the others
// have begun.
func (c *Client) ReassignTopics(ctx context.Context, topics []Reassignment) ([]error, error) {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis = int32(controllerLimit.Milliseconds())
	req.AllowReplicationFactorChange = true
	for _, t := range topics {
		rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
		rt.Topic = t.Name
		for _, n := range slices.Sorted(maps.Keys(t.Replicas)) {
			rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
			rp.Partition, rp.Replicas = n, t.Replicas[n]
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	resp, err := do[*kmsg.AlterPartitionAssignmentsResponse](ctx, c, "reassignment of topics", req)
	if err != nil {
		return nil, err
	}
	if no := refusal(resp.ErrorCode, resp.ErrorMessage); no != nil {
		return nil, c.failed("reassignment of topics", no)
	}
	got := answers{}
	for _, t := range resp.Topics {
		got[t.Topic] = nil
		for _, p := range t.Partitions {
			if no := refusal(p.ErrorCode, p.ErrorMessage); no != nil && got[t.Topic] == nil {
				got[t.Topic] = no
			}
		}
	}
	return inOrder(got, topics, func(t Reassignment) string { return t.Name }), nil
}

// answers are what a broker said, by topic; nil: done.
type answers map[string]*Refusal

var errLeftOut = errors.New("the answer leaves the topic out")

// at is the answer for one topic.
func (a answers) at(key string) error {
	r, ok := a[key]
	if !ok {
		return fmt.Errorf("topic %s: %w", key, errLeftOut)
	}
	return r.or()
}

// inOrder lists the answers in the order of the question.
func inOrder[T any](a answers, asked []T, key func(T) string) []error {
	out := make([]error, len(asked))
	for i, t := range asked {
		out[i] = a.at(key(t))
	}
	return out
}
