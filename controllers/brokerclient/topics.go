package brokerclient

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// maxDescribed bounds the topics whose settings one request asks for: a topic's settings are about 2 kB of answer.
const maxDescribed = 500

// Topic is a topic as a broker sees it.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Internal   bool
	Partitions []Partition // by number
	// Refusal is why the broker tells nothing else of the topic.
	Refusal *Refusal
}

// Partition is where a partition is. While it moves, Replicas holds those that come and those that go, too.
type Partition struct {
	Leader   int32 // -1: none
	Replicas []int32
	ISR      []int32
}

// Topics describes topics by name, or all of them when no names are given. A topic that does not exist is absent.
func (c *Client) Topics(ctx context.Context, names ...string) (map[string]Topic, error) {
	resp, err := c.metadata(ctx, names)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Topic, len(resp.Topics))
	for _, t := range resp.Topics {
		r := refusal(t.ErrorCode, nil)
		if r != nil && r.Code == kafka.UnknownTopicOrPartition {
			continue
		}
		topic := Topic{Name: text(t.Topic), ID: t.TopicID, Internal: t.IsInternal, Refusal: r, Partitions: make([]Partition, len(t.Partitions))}
		for _, p := range t.Partitions {
			if p.Partition < 0 || int(p.Partition) >= len(topic.Partitions) {
				return nil, c.failed("topics", fmt.Errorf("%s has %d partitions and a partition %d", topic.Name, len(t.Partitions), p.Partition))
			}
			topic.Partitions[p.Partition] = Partition{Leader: p.Leader, Replicas: p.Replicas, ISR: p.ISR}
		}
		out[topic.Name] = topic
	}
	return out, nil
}

// metadata asks a broker itself: the library's cache of it is for producers and consumers.
func (c *Client) metadata(ctx context.Context, names []string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest() // no topics: all
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	req.AllowAutoTopicCreation = false
	return do[*kmsg.MetadataResponse](ctx, c, "topics", req)
}

// TopicSettings are the settings that topics have of their own; a topic that does not exist is absent.
func (c *Client) TopicSettings(ctx context.Context, names ...string) (map[string]map[string]string, error) {
	out := make(map[string]map[string]string, len(names))
	err := c.describeTopics(ctx, names, nil, func(topic string, all []kmsg.DescribeConfigsResponseResourceConfig) error {
		out[topic] = own(all)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// MinISR is the min.insync.replicas that holds for each topic, wherever it comes from; a topic that does not exist is absent.
func (c *Client) MinISR(ctx context.Context, names ...string) (map[string]int, error) {
	const setting = "min.insync.replicas"
	out := make(map[string]int, len(names))
	err := c.describeTopics(ctx, names, []string{setting}, func(topic string, all []kmsg.DescribeConfigsResponseResourceConfig) error {
		if len(all) != 1 {
			return fmt.Errorf("%d settings are described, want %s", len(all), setting)
		}
		n, err := strconv.Atoi(text(all[0].Value))
		out[topic] = n
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// describeTopics gives the settings of topics that exist, all or those of the keys, to each.
func (c *Client) describeTopics(ctx context.Context, names, keys []string, each func(topic string, all []kmsg.DescribeConfigsResponseResourceConfig) error) error {
	const what = "settings of topics"
	for batch := range slices.Chunk(names, maxDescribed) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, name := range batch {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, name, keys
			req.Resources = append(req.Resources, r)
		}
		resp, err := do[*kmsg.DescribeConfigsResponse](ctx, c, what, req)
		if err != nil {
			return err
		}
		for _, r := range resp.Resources {
			if no := refusal(r.ErrorCode, r.ErrorMessage); no != nil {
				if no.Code == kafka.UnknownTopicOrPartition {
					continue
				}
				return c.failed(what, fmt.Errorf("topic %s: %w", r.ResourceName, no))
			}
			if err := each(r.ResourceName, r.Configs); err != nil {
				return c.failed(what, fmt.Errorf("topic %s: %w", r.ResourceName, err))
			}
		}
	}
	return nil
}

// own picks the settings that the topic itself has.
func own(all []kmsg.DescribeConfigsResponseResourceConfig) map[string]string {
	out := map[string]string{}
	for _, s := range all {
		if s.Source == kmsg.ConfigSourceDynamicTopicConfig {
			out[s.Name] = text(s.Value)
		}
	}
	return out
}

// Move is the replicas that a partition gets and loses by a reassignment that runs.
type Move struct{ Adding, Removing []int32 }

// Moves lists the reassignments that run.
func (c *Client) Moves(ctx context.Context) (map[kafka.TopicPartition]Move, error) {
	const what = "reassignments"
	resp, err := do[*kmsg.ListPartitionReassignmentsResponse](ctx, c, what, kmsg.NewPtrListPartitionReassignmentsRequest())
	if err != nil {
		return nil, err
	}
	if r := refusal(resp.ErrorCode, resp.ErrorMessage); r != nil {
		return nil, c.failed(what, r)
	}
	out := map[kafka.TopicPartition]Move{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			out[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = Move{Adding: p.AddingReplicas, Removing: p.RemovingReplicas}
		}
	}
	return out, nil
}
