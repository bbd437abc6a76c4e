package brokerclient

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ClusterSettings are the settings that were altered for all brokers, Kafka's cluster-wide default. Passwords are there with an empty
// value: brokers do not tell them.
func (c *Client) ClusterSettings(ctx context.Context) (map[string]string, error) {
	const what = "broker settings"
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	described, err := c.admin.DescribeBrokerConfigs(ctx)
	if err != nil {
		return nil, c.failed(what, err)
	}
	if len(described) != 1 {
		return nil, c.failed(what, fmt.Errorf("%d resources were described, want 1", len(described)))
	}
	if d := described[0]; d.Err != nil {
		return nil, c.failed(what, fmt.Errorf("%w: %s", d.Err, d.ErrMessage))
	}
	out := map[string]string{}
	for _, s := range described[0].Configs {
		if s.Source == kmsg.ConfigSourceDynamicDefaultBrokerConfig {
			out[s.Key] = s.MaybeValue()
		}
	}
	return out, nil
}

// AlterClusterSettings sets settings for all brokers and takes others back, all or none. What the brokers do not accept is a [*Refusal].
func (c *Client) AlterClusterSettings(ctx context.Context, change SettingsChange) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, change.resource(kmsg.ConfigResourceTypeBroker, ""))
	resp, err := do[*kmsg.IncrementalAlterConfigsResponse](ctx, c, "change of broker settings", req)
	if err != nil {
		return err
	}
	if len(resp.Resources) != 1 {
		return c.failed("change of broker settings", fmt.Errorf("%d resources were answered for, want 1", len(resp.Resources)))
	}
	return refusal(resp.Resources[0].ErrorCode, resp.Resources[0].ErrorMessage).or()
}

// SettingsChange is a change of the settings of one resource. What is in neither part stays as it is.
type SettingsChange struct {
	Set    map[string]string
	Remove []string
}

// resource is the change in Kafka's form, by name.
func (s SettingsChange) resource(kind kmsg.ConfigResourceType, name string) kmsg.IncrementalAlterConfigsRequestResource {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, key := range slices.Sorted(maps.Keys(s.Set)) {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = key, kmsg.IncrementalAlterConfigOpSet, kadm.StringPtr(s.Set[key])
		r.Configs = append(r.Configs, c)
	}
	for _, key := range slices.Sorted(slices.Values(s.Remove)) {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op = key, kmsg.IncrementalAlterConfigOpDelete
		r.Configs = append(r.Configs, c)
	}
	return r
}
