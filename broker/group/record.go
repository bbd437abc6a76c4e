package group

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka's versions of the keys of __consumer_offsets. Higher ones are KIP-848, share and streams groups.
const (
	offsetKeyV0 = 0
	offsetKeyV1 = 1
	groupKeyV2  = 2
)

// Versions of values that we write. All older ones are read.
const (
	groupValueVersion      = 3 // the last one before the flexible one, as Kafka writes
	offsetValueExpires     = 1 // the only one that carries an explicit expiry
	offsetValueVersion     = 3 // without a topic id
	offsetValueWithTopicID = 4 // flexible: the topic id is a tagged field
)

// entry is a decoded record: one of the keys, and its value, nil in a tombstone.
type entry struct {
	offsetKey *kmsg.OffsetCommitKey
	offset    *offset
	groupKey  *kmsg.GroupMetadataKey
	group     *saved
}

// decodeRecord reads one record. Nothing in the result refers to the record's bytes. The zero entry is a record of a kind
// that is not ours.
func decodeRecord(r Record) (entry, error) {
	if len(r.Key) < 2 {
		return entry{}, fmt.Errorf("decode group record: key of %d bytes has no version", len(r.Key))
	}
	switch v := int16(binary.BigEndian.Uint16(r.Key)); v {
	case offsetKeyV0, offsetKeyV1:
		return decodeOffset(r)
	case groupKeyV2:
		return decodeGroup(r)
	default:
		return entry{}, nil
	}
}

func decodeOffset(r Record) (entry, error) {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(r.Key); err != nil {
		return entry{}, fmt.Errorf("decode key of a committed offset: %w", err)
	}
	e := entry{offsetKey: &k}
	if r.Value == nil {
		return e, nil
	}
	v := kmsg.NewOffsetCommitValue()
	if err := v.ReadFrom(r.Value); err != nil {
		return entry{}, fmt.Errorf("decode committed offset of group %q for %s-%d: %w", k.Group, k.Topic, k.Partition, err)
	}
	o := offset{
		offset: kafka.Offset(v.Offset), leaderEpoch: kafka.NoLeaderEpoch, metadata: v.Metadata,
		committed: kafka.Timestamp(v.CommitTimestamp), expires: kafka.NoTimestamp, topicID: v.TopicID,
	}
	if v.Version >= offsetValueVersion {
		o.leaderEpoch = kafka.LeaderEpoch(v.LeaderEpoch)
	}
	if v.Version == offsetValueExpires {
		o.expires = kafka.Timestamp(v.ExpireTimestamp)
	}
	e.offset = &o
	return e, nil
}

func decodeGroup(r Record) (entry, error) {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(r.Key); err != nil {
		return entry{}, fmt.Errorf("decode key of a group: %w", err)
	}
	e := entry{groupKey: &k}
	if r.Value == nil {
		return e, nil
	}
	s := &saved{kmsg.NewGroupMetadataValue()}
	if err := s.ReadFrom(bytes.Clone(r.Value)); err != nil { // it keeps parts of what it reads
		return entry{}, fmt.Errorf("decode metadata of group %q: %w", k.Group, err)
	}
	e.group = s
	return e, nil
}

func offsetKey(group, topic string, partition int32) []byte {
	k := kmsg.OffsetCommitKey{Version: offsetKeyV1, Group: group, Topic: topic, Partition: partition}
	return k.AppendTo(nil)
}

func offsetRecord(group, topic string, partition int32, o offset) Record {
	v := kmsg.NewOffsetCommitValue()
	v.Version = offsetValueVersion
	switch {
	case o.expires != kafka.NoTimestamp:
		v.Version, v.ExpireTimestamp = offsetValueExpires, int64(o.expires)
	case !o.topicID.IsZero():
		v.Version, v.TopicID = offsetValueWithTopicID, o.topicID
	}
	v.Offset, v.LeaderEpoch, v.Metadata = int64(o.offset), int32(o.leaderEpoch), o.metadata
	v.CommitTimestamp = int64(o.committed)
	return Record{Key: offsetKey(group, topic, partition), Value: v.AppendTo(nil)}
}

func offsetTombstone(group, topic string, partition int32) Record {
	return Record{Key: offsetKey(group, topic, partition)}
}

func groupKey(id string) []byte {
	k := kmsg.GroupMetadataKey{Version: groupKeyV2, Group: id}
	return k.AppendTo(nil)
}

func groupTombstone(id string) Record { return Record{Key: groupKey(id)} }

// record is the group's metadata record: the running generation, with new assignments by member id, or, if that is nil,
// with those that the members have.
func (g *group) record(assignments map[string][]byte) Record {
	v := kmsg.NewGroupMetadataValue()
	v.Version = groupValueVersion
	v.ProtocolType, v.Generation, v.CurrentStateTimestamp = g.protocolType, g.generation, int64(g.since)
	if len(g.members) > 0 {
		v.Protocol, v.Leader = kmsg.StringPtr(g.protocol), kmsg.StringPtr(g.leader)
	}
	for _, mb := range g.members {
		vm := kmsg.NewGroupMetadataValueMember()
		vm.MemberID, vm.InstanceID, vm.ClientID, vm.ClientHost = mb.id, mb.instanceID, mb.clientID, mb.clientHost
		vm.RebalanceTimeoutMillis, vm.SessionTimeoutMillis = mb.rebalanceMillis, mb.sessionMillis
		vm.Subscription, vm.Assignment = mb.metadata(g.protocol), mb.assignment
		if assignments != nil {
			vm.Assignment = assignments[mb.id]
		}
		v.Members = append(v.Members, vm)
	}
	return Record{Key: groupKey(g.id), Value: v.AppendTo(nil)}
}
