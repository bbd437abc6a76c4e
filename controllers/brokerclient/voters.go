package brokerclient

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// quorumTopic is how Kafka's protocol names the log of the metadata quorum.
const quorumTopic = "__cluster_metadata"

// Voters are the members of the metadata quorum that have a vote, by number. A broker is there once for each of its directories that has one.
func (c *Client) Voters(ctx context.Context) ([]int32, error) {
	const what = "metadata quorum"
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic, t.Partitions = quorumTopic, []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, t)
	resp, err := do[*kmsg.DescribeQuorumResponse](ctx, c, what, req)
	if err != nil {
		return nil, err
	}
	if r := refusal(resp.ErrorCode, resp.ErrorMessage); r != nil {
		return nil, c.failed(what, r)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, c.failed(what, fmt.Errorf("%d topics were described, want 1 with 1 partition", len(resp.Topics)))
	}
	p := resp.Topics[0].Partitions[0]
	if r := refusal(p.ErrorCode, p.ErrorMessage); r != nil {
		return nil, c.failed(what, r)
	}
	var out []int32
	for _, v := range p.CurrentVoters {
		out = append(out, v.ReplicaID)
	}
	slices.Sort(out)
	return out, nil
}
