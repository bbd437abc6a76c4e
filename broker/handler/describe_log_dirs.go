package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// describeLogDirs answers DescribeLogDirs 1 to 5 (v4 volume sizes, KIP-827) for this broker's one directory. No topics
// named means all.
func (h *Handler) describeLogDirs(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.DescribeLogDirsRequest)
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = h.Settings().LogDir
	dir.TotalBytes, dir.UsableBytes = h.Volume()
	if h.Partitions.Failure() != nil {
		dir.ErrorCode = int16(kafka.KafkaStorageError)
		resp.Dirs = append(resp.Dirs, dir)
		return c.answer(resp)
	}
	if req.Topics == nil {
		for t := range c.image.Topics() {
			h.addLogDirTopic(&dir, t, h.replicasHere(t))
		}
	}
	for _, asked := range req.Topics {
		if t := c.image.TopicByName(asked.Topic); t != nil {
			h.addLogDirTopic(&dir, t, asked.Partitions)
		}
	}
	resp.Dirs = append(resp.Dirs, dir)
	return c.answer(resp)
}

// replicasHere are the partitions of a topic that have a replica on this broker.
func (h *Handler) replicasHere(t *metadata.Topic) (numbers []int32) {
	for n, p := range t.Partitions() {
		if p.HasReplica(h.Node) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// addLogDirTopic adds those of the partitions that this broker holds.
func (h *Handler) addLogDirTopic(dir *kmsg.DescribeLogDirsResponseDir, t *metadata.Topic, partitions []int32) {
	out := kmsg.NewDescribeLogDirsResponseDirTopic()
	out.Topic = t.Name
	for _, n := range partitions {
		p, code := h.Partitions.Get(kafka.TopicPartition{Topic: t.Name, Partition: n})
		if code != kafka.None {
			continue
		}
		d := p.Describe()
		rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		rp.Partition, rp.Size, rp.OffsetLag = n, d.SizeBytes, int64(max(d.HighWatermark-d.LogEnd, 0))
		out.Partitions = append(out.Partitions, rp)
	}
	if len(out.Partitions) > 0 {
		dir.Topics = append(dir.Topics, out)
	}
}
