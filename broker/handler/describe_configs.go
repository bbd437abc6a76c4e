package handler

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// describeConfigs answers DescribeConfigs 1 to 4 for topics, for this broker (its file is known here alone) and for the
// defaults of all brokers. v3 adds types and documentation.
func (h *Handler) describeConfigs(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.DescribeConfigsRequest)
	resp := kmsg.NewPtrDescribeConfigsResponse()
	described := map[metadata.Resource]bool{}
	for _, asked := range req.Resources {
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = asked.ResourceType, asked.ResourceName
		res := metadata.Resource{Type: metadata.ResourceType(asked.ResourceType), Name: asked.ResourceName}
		if res.Type == metadata.BrokerResource && res.Name != "" {
			res = metadata.BrokerConfig(h.Node) // no other is described here, and an id may have zeros before it
		}
		var entries []config.Entry
		code, message := kafka.InvalidRequest, "The request names the resource more than once."
		if !described[res] { // what is told of it may take a thousand times the bytes of its name
			entries, code, message = h.describeResource(c.image, asked)
			described[res] = code == kafka.None
		}
		rr.ErrorCode, rr.ErrorMessage = int16(code), optional(message)
		for _, e := range entries {
			if asked.ConfigNames == nil || slices.Contains(asked.ConfigNames, e.Name) {
				rr.Configs = append(rr.Configs, describedConfig(e, req))
			}
		}
		resp.Resources = append(resp.Resources, rr)
	}
	return c.answer(resp)
}

func (h *Handler) describeResource(image *metadata.Image, asked kmsg.DescribeConfigsRequestResource) ([]config.Entry, kafka.ErrorCode, string) {
	layers := h.Layers()
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if !kafka.ValidTopicName(asked.ResourceName) {
			return nil, kafka.InvalidTopicException, "Topic name is invalid: '" + asked.ResourceName + "'"
		}
		if image.TopicByName(asked.ResourceName) == nil {
			return nil, kafka.UnknownTopicOrPartition, ""
		}
		layers.Topic = image.Config(metadata.TopicConfig(asked.ResourceName)).Values()
		return config.DescribeTopic(layers), kafka.None, ""
	case kmsg.ConfigResourceTypeBroker:
		if asked.ResourceName == "" {
			return config.DescribeBrokerDefault(layers.Default), kafka.None, ""
		}
		id, err := strconv.ParseInt(asked.ResourceName, 10, 32)
		if err != nil {
			return nil, kafka.InvalidRequest, "Broker id must be an integer, but it is: " + asked.ResourceName
		}
		if kafka.NodeID(id) != h.Node {
			return nil, kafka.InvalidRequest, "Unexpected broker id, expected " + strconv.Itoa(int(h.Node)) + " or empty string, but received " + asked.ResourceName
		}
		return config.DescribeBroker(layers), kafka.None, ""
	}
	return nil, kafka.InvalidRequest, "Unsupported resource type: " + asked.ResourceType.String()
}

func describedConfig(e config.Entry, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	rc := kmsg.NewDescribeConfigsResponseResourceConfig()
	rc.Name, rc.Value, rc.ReadOnly, rc.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	rc.Source, rc.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
	if req.IncludeDocumentation {
		rc.Documentation = &e.Doc
	}
	if !req.IncludeSynonyms {
		return rc
	}
	for _, s := range e.Synonyms {
		rs := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		rs.Name, rs.Value, rs.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
		rc.ConfigSynonyms = append(rc.ConfigSynonyms, rs)
	}
	return rc
}

// configResourceTypes are Kafka's kinds of resources: topic, broker, broker logger, client metrics, group.
var configResourceTypes = []int8{2, 4, 8, 16, 32}

// listConfigResources answers ListConfigResources 0 and 1 (KIP-1142): topics and brokers. Version 0 asks for client metrics
// subscriptions alone, of which there are none.
func (h *Handler) listConfigResources(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.ListConfigResourcesRequest)
	resp := kmsg.NewPtrListConfigResourcesResponse()
	for _, t := range req.ResourceTypes {
		if !slices.Contains(configResourceTypes, t) {
			resp.ErrorCode = int16(kafka.UnsupportedVersion)
			return c.answer(resp)
		}
	}
	asked := func(t kmsg.ConfigResourceType) bool {
		return len(req.ResourceTypes) == 0 || slices.Contains(req.ResourceTypes, int8(t))
	}
	add := func(t kmsg.ConfigResourceType, name string) {
		cr := kmsg.NewListConfigResourcesResponseConfigResource()
		cr.Type, cr.Name = int8(t), name
		resp.ConfigResources = append(resp.ConfigResources, cr)
	}
	if req.Version >= 1 && asked(kmsg.ConfigResourceTypeTopic) {
		for t := range c.image.Topics() {
			add(kmsg.ConfigResourceTypeTopic, t.Name)
		}
	}
	if req.Version >= 1 && asked(kmsg.ConfigResourceTypeBroker) {
		for b := range c.image.Brokers() {
			add(kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(b.ID)))
		}
	}
	return c.answer(resp)
}
