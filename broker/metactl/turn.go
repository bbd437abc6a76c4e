package metactl

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// turn is one decision in the making: the image as it will be, and the records that get it there.
type turn struct {
	c       *Controller
	now     kafka.Elapsed
	wall    kafka.Timestamp
	rnd     Rand
	image   *metadata.Image // speculative, with records applied
	records []metadata.Record
	// Leaderships by broker, made when first needed: see leaderships.
	ofCluster, ofTopic map[kafka.NodeID]int
	topic              *metadata.Topic
}

func (c *Controller) begin(now kafka.Elapsed, wall kafka.Timestamp, rnd Rand) *turn {
	return &turn{c: c, now: now, wall: wall, rnd: rnd, image: c.speculative}
}

// propose makes the records of a turn part of the speculative image.
func (c *Controller) propose(t *turn) []metadata.Record {
	if len(t.records) > 0 {
		c.speculative = t.image
		c.open++
	}
	return t.records
}

// add applies records to the image of the turn. A batch costs much less than its records one by one.
func (t *turn) add(records ...metadata.Record) {
	if len(records) == 0 {
		return
	}
	t.image = t.image.With(t.image.Version(), records)
	t.records = append(t.records, records...)
}

func (t *turn) decide(req kmsg.Request) kmsg.Response {
	switch req := req.(type) {
	case *kmsg.BrokerRegistrationRequest:
		return t.register(req)
	case *kmsg.BrokerHeartbeatRequest:
		return t.heartbeat(req)
	case *kmsg.UnregisterBrokerRequest:
		return t.unregister(req)
	case *kmsg.AlterPartitionRequest:
		return t.alterPartition(req)
	case *kmsg.AllocateProducerIDsRequest:
		return t.allocateProducerIDs(req)
	case *kmsg.CreateTopicsRequest:
		return t.createTopics(req)
	case *kmsg.DeleteTopicsRequest:
		return t.deleteTopics(req)
	case *kmsg.CreatePartitionsRequest:
		return t.createPartitions(req)
	case *kmsg.IncrementalAlterConfigsRequest:
		return t.incrementalAlterConfigs(req)
	case *kmsg.AlterConfigsRequest:
		return t.alterConfigs(req)
	case *kmsg.ElectLeadersRequest:
		return t.electLeaders(req)
	case *kmsg.AlterPartitionAssignmentsRequest:
		return t.reassign(req)
	case *kmsg.ListPartitionReassignmentsRequest:
		return t.listReassignments(req)
	case *LogEndsRequest:
		return t.logEnds(req)
	}
	return refuse(req, kafka.UnsupportedVersion)
}

// Decides tells whether a request is a command of the controller.
func Decides(key int16) bool {
	switch key {
	case 19, 20, 33, 37, 43, 44, 45, 46, 56, 62, 63, 64, 67, LogEndsKey:
		return true
	}
	return false
}
