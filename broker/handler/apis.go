package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// apis is every API that is served to clients, with its handler. Versions are in wire.APIs.
var apis = []struct {
	key   kmsg.Key
	serve serve
}{
	{kmsg.Produce, (*Handler).produce},
	{kmsg.Fetch, (*Handler).fetch},
	{kmsg.ListOffsets, (*Handler).listOffsets},
	{kmsg.Metadata, (*Handler).metadata},
	{kmsg.OffsetCommit, (*Handler).group},
	{kmsg.OffsetFetch, (*Handler).group},
	{kmsg.FindCoordinator, (*Handler).findCoordinator},
	{kmsg.JoinGroup, (*Handler).group},
	{kmsg.Heartbeat, (*Handler).group},
	{kmsg.LeaveGroup, (*Handler).group},
	{kmsg.SyncGroup, (*Handler).group},
	{kmsg.DescribeGroups, (*Handler).group},
	{kmsg.ListGroups, (*Handler).group},
	{kmsg.ApiVersions, (*Handler).apiVersions},
	{kmsg.CreateTopics, (*Handler).createTopics},
	{kmsg.DeleteTopics, (*Handler).deleteTopics},
	{kmsg.DeleteRecords, (*Handler).deleteRecords},
	{kmsg.InitProducerID, (*Handler).initProducerID},
	{kmsg.OffsetForLeaderEpoch, (*Handler).offsetForLeaderEpoch},
	{kmsg.DescribeConfigs, (*Handler).describeConfigs},
	{kmsg.AlterConfigs, (*Handler).alterConfigs},
	{kmsg.DescribeLogDirs, (*Handler).describeLogDirs},
	{kmsg.CreatePartitions, (*Handler).createPartitions},
	{kmsg.DeleteGroups, (*Handler).group},
	{kmsg.ElectLeaders, (*Handler).electLeaders},
	{kmsg.AlterPartitionAssignments, (*Handler).reassign},
	{kmsg.ListPartitionReassignments, (*Handler).listReassignments},
	{kmsg.IncrementalAlterConfigs, (*Handler).incrementalAlterConfigs},
	{kmsg.OffsetDelete, (*Handler).group},
	{kmsg.DescribeQuorum, (*Handler).describeQuorum},
	{kmsg.DescribeCluster, (*Handler).describeCluster},
	{kmsg.UnregisterBroker, (*Handler).unregisterBroker},
	{kmsg.ListConfigResources, (*Handler).listConfigResources},
	{kmsg.DescribeTopicPartitions, (*Handler).describeTopicPartitions},
}
