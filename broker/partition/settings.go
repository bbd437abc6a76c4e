package partition

import (
	"math"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// produceRules are the topic's settings by which package record judges a batch.
func produceRules(c *config.Topic, r ProduceRequest) record.ProduceRules {
	rules := record.ProduceRules{
		Version: r.Version, MaxMessageBytes: int(c.MaxMessageBytes), SegmentBytes: int(c.SegmentBytes),
		MaxInflatedBytes: int(c.MaxDecompressedMessageBytes), Compacted: c.Compact,
		BeforeMaxMs: c.TimestampBeforeMaxMs, AfterMaxMs: c.TimestampAfterMaxMs,
		Compression: compression(c), Now: r.Wall,
	}
	if c.TimestampType == config.LogAppendTime {
		rules.TimestampType = record.LogAppendTime
	}
	if r.Origin == OriginCoordinator {
		rules.Origin = record.FromCoordinator
	}
	return rules
}

func compression(c *config.Topic) record.Compression {
	switch c.Compression {
	case config.CompressionUncompressed:
		return record.Compression{Convert: true, Codec: record.None}
	case config.CompressionGzip:
		return record.Compression{Convert: true, Codec: record.Gzip, Level: c.GzipLevel}
	case config.CompressionSnappy:
		return record.Compression{Convert: true, Codec: record.Snappy}
	case config.CompressionLZ4:
		return record.Compression{Convert: true, Codec: record.LZ4, Level: c.LZ4Level}
	case config.CompressionZstd:
		return record.Compression{Convert: true, Codec: record.Zstd, Level: c.ZstdLevel}
	}
	return record.Compression{}
}

// machineSettings are those that the replication machine needs.
func (h *host) machineSettings(image *metadata.Image, topic string, replicas int, c *config.Topic) replica.Settings {
	s := replica.Settings{MinISR: image.MinISR(topic, replicas), LagMax: h.o.LagMax, AlterRetry: alterRetry}
	if c.FlushMessages < math.MaxInt64 {
		s.FlushMessages = c.FlushMessages
	}
	return s
}
