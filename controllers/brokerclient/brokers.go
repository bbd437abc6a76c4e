package brokerclient

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Broker is a registered broker.
type Broker struct {
	ID     int32
	Host   string
	Port   int32
	Rack   string // "" when it has none
	Fenced bool   // not in service: starting, stopping or not heard of
}

// Registered lists the brokers that the cluster knows, by number, those that are not in service too.
func (c *Client) Registered(ctx context.Context) ([]Broker, error) {
	const what = "brokers"
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	resp, err := do[*kmsg.DescribeClusterResponse](ctx, c, what, req)
	if err != nil {
		return nil, err
	}
	if r := refusal(resp.ErrorCode, resp.ErrorMessage); r != nil {
		return nil, c.failed(what, r)
	}
	var out []Broker
	for _, b := range resp.Brokers {
		out = append(out, Broker{ID: b.NodeID, Host: b.Host, Port: b.Port, Rack: text(b.Rack), Fenced: b.IsFenced})
	}
	slices.SortFunc(out, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Unregister makes the cluster forget a broker. The cluster refuses while the broker holds a replica or a vote: the error is then a
// [*Refusal].
func (c *Client) Unregister(ctx context.Context, id int32) error {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = id
	resp, err := do[*kmsg.UnregisterBrokerResponse](ctx, c, "removal of a broker", req)
	if err != nil {
		return err
	}
	return refusal(resp.ErrorCode, resp.ErrorMessage).or()
}

// Overview counts what the cluster's partitions are on and how they are.
type Overview struct {
	ClusterID  string
	Controller int32           // -1 when there is none
	Replicas   map[int32]int   // by broker; brokers without replicas are absent
	Leaders    map[int32]int   // by broker; brokers that lead nothing are absent
	Health     PartitionHealth // of all topics, internal ones too
}

// PartitionHealth counts partitions.
type PartitionHealth struct {
	Partitions      int
	UnderReplicated int // fewer in-sync replicas than replicas
	Offline         int // no leader
}

// Overview asks for all partitions once.
func (c *Client) Overview(ctx context.Context) (Overview, error) {
	resp, err := c.metadata(ctx, nil)
	if err != nil {
		return Overview{}, err
	}
	o := Overview{ClusterID: text(resp.ClusterID), Controller: resp.ControllerID, Replicas: map[int32]int{}, Leaders: map[int32]int{}}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			o.Health.Partitions++
			if len(p.ISR) < len(p.Replicas) {
				o.Health.UnderReplicated++
			}
			if p.Leader < 0 {
				o.Health.Offline++
			} else {
				o.Leaders[p.Leader]++
			}
			for _, id := range p.Replicas {
				o.Replicas[id]++
			}
		}
	}
	return o, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
