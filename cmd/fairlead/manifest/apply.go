package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/peer"
)

// requestLimit is what the brokers may take for one change.
const requestLimit = 30 * time.Second

// Apply brings the topics of a cluster to what is wanted, one line on out for each, and goes on after one that cannot be. The errors, one a
// topic, are joined. bootstrap are addresses for clients, of which the first that answers is asked.
func Apply(ctx context.Context, bootstrap []string, topics []Topic, out io.Writer) error {
	c := peer.New(peer.Options{Dial: func(ctx context.Context) (net.Conn, error) { return dialAny(ctx, bootstrap) }, ClientID: "fairlead-dev"})
	defer c.Close()
	var failed []error
	for _, t := range topics {
		change, err := apply(ctx, c, t)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		fmt.Fprintln(out, change.Describe(t.Name))
	}
	return errors.Join(failed...)
}

func dialAny(ctx context.Context, addresses []string) (net.Conn, error) {
	err := errors.New("no address of a broker is known")
	for _, a := range addresses {
		var c net.Conn
		if c, err = peer.DialTCP(a)(ctx); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func apply(ctx context.Context, c *peer.Client, t Topic) (Change, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	found, err := find(ctx, c, t.Name)
	if err != nil {
		return Change{}, t.At.errorf("look for topic %s: %v", t.Name, err)
	}
	change, err := Decide(t, found)
	if err != nil {
		return change, err
	}
	if change.Create {
		if err := create(ctx, c, t); err != nil {
			return change, t.At.errorf("create topic %s: %v", t.Name, err)
		}
	}
	if len(change.Set) > 0 || len(change.Restore) > 0 {
		if err := alter(ctx, c, t.Name, change); err != nil {
			return change, t.place("spec.config").errorf("alter topic %s: %v", t.Name, err)
		}
	}
	if change.GrowTo > 0 {
		if err := grow(ctx, c, t.Name, change.GrowTo); err != nil {
			return change, t.place("spec.partitions").errorf("grow topic %s: %v", t.Name, err)
		}
	}
	return change, nil
}

// ask sends a request and copies the response's byte fields, of which there are none here.
func ask(ctx context.Context, c *peer.Client, req kmsg.Request, version int16) (kmsg.Response, error) {
	req.SetVersion(version)
	resp, release, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	release()
	return resp, nil
}

// answered makes an error of a code and its message.
func answered(code int16, message *string) error {
	switch {
	case code == 0:
		return nil
	case message != nil && *message != "":
		return fmt.Errorf("%s: %s", kafka.ErrorCode(code), *message)
	}
	return errors.New(kafka.ErrorCode(code).String())
}

var errNoAnswer = errors.New("the answer is about something else")

// find gives a topic as it is, nil when there is none.
func find(ctx context.Context, c *peer.Client, name string) (*Found, error) {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	resp, err := ask(ctx, c, req, 12)
	if err != nil {
		return nil, err
	}
	topics := resp.(*kmsg.MetadataResponse).Topics
	switch {
	case len(topics) != 1:
		return nil, errNoAnswer
	case kafka.ErrorCode(topics[0].ErrorCode) == kafka.UnknownTopicOrPartition:
		return nil, nil
	case topics[0].ErrorCode != 0:
		return nil, answered(topics[0].ErrorCode, nil)
	case len(topics[0].Partitions) == 0:
		return nil, errNoAnswer
	}
	f := &Found{Partitions: int32(len(topics[0].Partitions)), Replicas: int32(len(topics[0].Partitions[0].Replicas))}
	f.Config, err = findConfig(ctx, c, name)
	return f, err
}

// topicsOwn is the source of a setting that was set for the topic.
const topicsOwn = kmsg.ConfigSourceDynamicTopicConfig

func findConfig(ctx context.Context, c *peer.Client, name string) (map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, name
	req.Resources = append(req.Resources, resource)
	resp, err := ask(ctx, c, req, 4)
	if err != nil {
		return nil, err
	}
	resources := resp.(*kmsg.DescribeConfigsResponse).Resources
	if len(resources) != 1 {
		return nil, errNoAnswer
	}
	if err := answered(resources[0].ErrorCode, resources[0].ErrorMessage); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, s := range resources[0].Configs {
		if s.Source == topicsOwn && s.Value != nil {
			found[s.Name] = *s.Value
		}
	}
	return found, nil
}

func create(ctx context.Context, c *peer.Client, t Topic) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.Name, t.Partitions, int16(t.Replicas)
	for _, name := range slices.Sorted(maps.Keys(t.Config)) {
		s := kmsg.NewCreateTopicsRequestTopicConfig()
		s.Name, s.Value = name, kmsg.StringPtr(t.Config[name])
		topic.Configs = append(topic.Configs, s)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, topic), int32(requestLimit.Milliseconds())
	resp, err := ask(ctx, c, req, 7)
	if err != nil {
		return err
	}
	topics := resp.(*kmsg.CreateTopicsResponse).Topics
	if len(topics) != 1 {
		return errNoAnswer
	}
	return answered(topics[0].ErrorCode, topics[0].ErrorMessage)
}

func grow(ctx context.Context, c *peer.Client, name string, partitions int32) error {
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = name, partitions
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, topic), int32(requestLimit.Milliseconds())
	resp, err := ask(ctx, c, req, 3)
	if err != nil {
		return err
	}
	topics := resp.(*kmsg.CreatePartitionsResponse).Topics
	if len(topics) != 1 {
		return errNoAnswer
	}
	return answered(topics[0].ErrorCode, topics[0].ErrorMessage)
}

func alter(ctx context.Context, c *peer.Client, name string, change Change) error {
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, name
	for _, key := range slices.Sorted(maps.Keys(change.Set)) {
		s := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		s.Name, s.Op, s.Value = key, kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(change.Set[key])
		resource.Configs = append(resource.Configs, s)
	}
	for _, key := range change.Restore {
		s := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		s.Name, s.Op = key, kmsg.IncrementalAlterConfigOpDelete
		resource.Configs = append(resource.Configs, s)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, resource)
	resp, err := ask(ctx, c, req, 1)
	if err != nil {
		return err
	}
	resources := resp.(*kmsg.IncrementalAlterConfigsResponse).Resources
	if len(resources) != 1 {
		return errNoAnswer
	}
	return answered(resources[0].ErrorCode, resources[0].ErrorMessage)
}
