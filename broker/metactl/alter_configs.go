package metactl

import (
	"strconv"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// incrementalAlterConfigs answers IncrementalAlterConfigs (44), versions 0 and 1. Each resource is judged by itself; all of
// its changes are made or none.
func (t *turn) incrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	times := map[metadata.Resource]int{}
	for _, r := range req.Resources {
		times[resourceOf(r.ResourceType, r.ResourceName)]++
	}
	before := *t
	for _, r := range req.Resources {
		res := resourceOf(r.ResourceType, r.ResourceName)
		var changes []config.Change
		for _, c := range r.Configs {
			changes = append(changes, config.Change{Name: c.Name, Op: config.Op(c.Op), Value: c.Value})
		}
		refusal := t.alterResource(res, times[res], func(current config.Values) (config.Values, *config.Refusal) {
			switch {
			case res.Type == metadata.TopicResource:
				return config.AlterTopic(current, t.layers(res.Name), changes)
			default:
				return config.AlterBroker(scopeOf(res), current, changes)
			}
		})
		resp.Resources = append(resp.Resources, alteredIncrementally(r.ResourceType, r.ResourceName, refusal))
	}
	if req.ValidateOnly {
		*t = before
	}
	return resp
}

// alterConfigs answers AlterConfigs (33), versions 0 to 2, which replaces all settings of a resource.
func (t *turn) alterConfigs(req *kmsg.AlterConfigsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	times := map[metadata.Resource]int{}
	for _, r := range req.Resources {
		times[resourceOf(r.ResourceType, r.ResourceName)]++
	}
	before := *t
	for _, r := range req.Resources {
		res := resourceOf(r.ResourceType, r.ResourceName)
		refusal := t.alterResource(res, times[res], func(config.Values) (config.Values, *config.Refusal) {
			next := config.Values{}
			for _, c := range r.Configs {
				if _, doubled := next[c.Name]; doubled {
					return nil, &config.Refusal{Code: kafka.InvalidRequest, Message: "Error due to duplicate config keys"}
				}
				if c.Value == nil {
					return nil, &config.Refusal{Code: kafka.InvalidRequest, Message: "Null value not supported for : " + c.Name}
				}
				next[c.Name] = *c.Value
			}
			if res.Type == metadata.TopicResource {
				return next, config.ValidateTopic(next, t.layers(res.Name))
			}
			return next, config.ValidateBroker(scopeOf(res), next)
		})
		resp.Resources = append(resp.Resources, altered(r.ResourceType, r.ResourceName, refusal))
	}
	if req.ValidateOnly {
		*t = before
	}
	return resp
}

// alterResource makes the settings that next gives of the present ones. times is how often the request has the resource.
func (t *turn) alterResource(res metadata.Resource, times int, next func(config.Values) (config.Values, *config.Refusal)) *refusal {
	if times > 1 {
		return refused(kafka.InvalidRequest, "The request has %s %q more than once.", kindOf(res), res.Name)
	}
	if r := t.findResource(res); r != nil {
		return r
	}
	current := t.image.Config(res).Values()
	values, refusal := next(current)
	if refusal != nil {
		return refused(refusal.Code, "%s", refusal.Message)
	}
	_, single := values[metadata.MinISRSetting]
	if single && res.Type == metadata.BrokerResource && res.Name != "" {
		// The controller and every leader must agree on it: see metadata.Image.MinISR.
		return refused(kafka.InvalidRequest, "%s can be set for a topic or for all brokers, not for a single broker.", metadata.MinISRSetting)
	}
	var records []metadata.Record
	for _, name := range current.Names() {
		if _, stays := values[name]; !stays {
			records = append(records, &metadata.ConfigRecord{Resource: res, Name: name, Remove: true})
		}
	}
	for _, name := range values.Names() {
		if v, ok := current[name]; !ok || v != values[name] {
			records = append(records, &metadata.ConfigRecord{Resource: res, Name: name, Value: values[name]})
		}
	}
	t.add(records...)
	if current[metadata.MinISRSetting] != values[metadata.MinISRSetting] {
		t.settleELR(res)
	}
	return nil
}

// settleELR ends the eligibility of replicas outside the ISR where min.insync.replicas has fallen to what the ISR has: from
// this entry on the high watermark moves without them.
func (t *turn) settleELR(res metadata.Resource) {
	t.each(func(ref partitionRef) *metadata.PartitionChange {
		if len(ref.ELR) == 0 || res.Type == metadata.TopicResource && ref.topic.Name != res.Name {
			return nil
		}
		x := t.change(ref, nil)
		x.setISR(ref.ISR)
		return x.done()
	})
}

func (t *turn) findResource(res metadata.Resource) *refusal {
	switch res.Type {
	case metadata.TopicResource:
		if r := refuseName(res.Name); r != nil {
			return r
		}
		if t.image.TopicByName(res.Name) == nil {
			return refused(kafka.UnknownTopicOrPartition, "Topic '%s' does not exist.", res.Name)
		}
		return nil
	case metadata.BrokerResource:
		if res.Name == "" {
			return nil
		}
		id, err := strconv.ParseInt(res.Name, 10, 32)
		if err != nil {
			return refused(kafka.InvalidRequest, "Invalid broker name %q: want a node id.", res.Name)
		}
		if metadata.BrokerConfig(kafka.NodeID(id)) != res || t.image.Broker(kafka.NodeID(id)) == nil {
			return refused(kafka.BrokerIDNotRegistered, "No broker with id %s found.", res.Name)
		}
		return nil
	}
	return refused(kafka.InvalidRequest, "Settings of resource type %d cannot be altered.", res.Type)
}

func resourceOf(kind kmsg.ConfigResourceType, name string) metadata.Resource {
	return metadata.Resource{Type: metadata.ResourceType(kind), Name: name}
}

func kindOf(res metadata.Resource) string {
	if res.Type == metadata.TopicResource {
		return "topic"
	}
	return "resource"
}

func scopeOf(res metadata.Resource) config.Scope {
	if res.Name == "" {
		return config.AllBrokers
	}
	return config.OneBroker
}

// layers are where the settings of a topic come from.
func (t *turn) layers(topic string) config.Layers {
	return config.Layers{
		Topic:   t.image.Config(metadata.TopicConfig(topic)).Values(),
		Default: t.image.Config(metadata.DefaultBrokerConfig).Values(),
		Static:  t.c.options.Static,
	}
}

func alteredIncrementally(kind kmsg.ConfigResourceType, name string, r *refusal) kmsg.IncrementalAlterConfigsResponseResource {
	out := kmsg.NewIncrementalAlterConfigsResponseResource()
	out.ResourceType, out.ResourceName = kind, name
	out.ErrorCode, out.ErrorMessage = r.fields()
	return out
}

func altered(kind kmsg.ConfigResourceType, name string, r *refusal) kmsg.AlterConfigsResponseResource {
	out := kmsg.NewAlterConfigsResponseResource()
	out.ResourceType, out.ResourceName = kind, name
	out.ErrorCode, out.ErrorMessage = r.fields()
	return out
}
