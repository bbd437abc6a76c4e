package metactl

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// producerIDBlock is the number of producer ids that a broker gets at a time, as in Kafka.
const producerIDBlock = 1000

// allocateProducerIDs answers AllocateProducerIDs (67).
func (t *turn) allocateProducerIDs(req *kmsg.AllocateProducerIDsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	node := kafka.NodeID(req.BrokerID)
	if b := t.image.Broker(node); b == nil || b.Epoch != kafka.BrokerEpoch(req.BrokerEpoch) {
		resp.ErrorCode = int16(kafka.StaleBrokerEpoch)
		return resp
	}
	first := t.image.NextProducerID()
	t.add(&metadata.ProducerIDsRecord{Next: first + producerIDBlock, BrokerID: node, BrokerEpoch: kafka.BrokerEpoch(req.BrokerEpoch)})
	resp.ProducerIDStart, resp.ProducerIDLen = int64(first), producerIDBlock
	return resp
}
