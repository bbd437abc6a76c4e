package config

import "strings"

// Topic is what the settings of one topic amount to on one broker. Times are milliseconds, as records and
// retention count them; math.MaxInt64 means never. Negative retention means no bound.
type Topic struct {
	Delete  bool // cleanup.policy has delete
	Compact bool // cleanup.policy has compact

	Compression Compression
	GzipLevel   int // -1: the library's default
	LZ4Level    int
	ZstdLevel   int

	MaxMessageBytes             int32 // largest batch as sent by a client
	MaxDecompressedMessageBytes int32
	TimestampType               TimestampType
	TimestampBeforeMaxMs        int64 // a CreateTime further in the past is refused
	TimestampAfterMaxMs         int64 // a CreateTime further in the future is refused

	SegmentBytes       int32
	SegmentMs          int64
	SegmentJitterMs    int64
	SegmentIndexBytes  int32
	IndexIntervalBytes int32
	FlushMessages      int64 // fsync after this many records
	FlushMs            int64 // fsync when a record is unflushed for this long
	Preallocate        bool
	FileDeleteDelayMs  int64

	RetentionMs    int64 // < 0: no bound
	RetentionBytes int64 // < 0: no bound

	DeleteRetentionMs      int64 // how long a tombstone stays readable
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	MinCleanableDirtyRatio float64

	MinInsyncReplicas     int32
	UncleanLeaderElection bool

	LeaderThrottled, FollowerThrottled ReplicaList
}

// Compression is the codec in which a topic stores batches.
type Compression string

// Values of compression.type.
const (
	CompressionProducer     Compression = "producer" // as sent
	CompressionUncompressed Compression = "uncompressed"
	CompressionGzip         Compression = "gzip"
	CompressionSnappy       Compression = "snappy"
	CompressionLZ4          Compression = "lz4"
	CompressionZstd         Compression = "zstd"
)

// TimestampType says whose clock dates a record.
type TimestampType string

// Values of message.timestamp.type.
const (
	CreateTime    TimestampType = "CreateTime"
	LogAppendTime TimestampType = "LogAppendTime"
)

// ResolveTopic gives the typed view of a topic on the broker that has the other layers. Values were checked when
// they came in; one that no longer parses (written by another release) is passed over for the next layer's.
func ResolveTopic(l Layers) Topic {
	r := resolver{func(name string) (parsed, bool) { return l.topicValue(TopicDef(name)) }}
	t := Topic{
		Compression:                 Compression(r.text("compression.type")),
		GzipLevel:                   int(r.int("compression.gzip.level")),
		LZ4Level:                    int(r.int("compression.lz4.level")),
		ZstdLevel:                   int(r.int("compression.zstd.level")),
		MaxMessageBytes:             int32(r.int("max.message.bytes")),
		MaxDecompressedMessageBytes: int32(r.int("max.decompressed.message.bytes")),
		TimestampType:               TimestampType(r.text("message.timestamp.type")),
		TimestampBeforeMaxMs:        r.int("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:         r.int("message.timestamp.after.max.ms"),
		SegmentBytes:                int32(r.int("segment.bytes")),
		SegmentMs:                   r.int("segment.ms"),
		SegmentJitterMs:             r.int("segment.jitter.ms"),
		SegmentIndexBytes:           int32(r.int("segment.index.bytes")),
		IndexIntervalBytes:          int32(r.int("index.interval.bytes")),
		FlushMessages:               r.int("flush.messages"),
		FlushMs:                     r.int("flush.ms"),
		Preallocate:                 r.bool("preallocate"),
		FileDeleteDelayMs:           r.int("file.delete.delay.ms"),
		RetentionMs:                 r.int("retention.ms"),
		RetentionBytes:              r.int("retention.bytes"),
		DeleteRetentionMs:           r.int("delete.retention.ms"),
		MinCompactionLagMs:          r.int("min.compaction.lag.ms"),
		MaxCompactionLagMs:          r.int("max.compaction.lag.ms"),
		MinCleanableDirtyRatio:      r.real("min.cleanable.dirty.ratio"),
		MinInsyncReplicas:           int32(r.int("min.insync.replicas")),
		UncleanLeaderElection:       r.bool("unclean.leader.election.enable"),
		LeaderThrottled:             ReplicaList(strings.Join(r.list("leader.replication.throttled.replicas"), ",")),
		FollowerThrottled:           ReplicaList(strings.Join(r.list("follower.replication.throttled.replicas"), ",")),
	}
	for _, policy := range r.list("cleanup.policy") {
		t.Delete = t.Delete || policy == "delete"
		t.Compact = t.Compact || policy == "compact"
	}
	if n, ok := l.topicValue(TopicDef("internal.segment.bytes")); ok {
		t.SegmentBytes = int32(n.int)
	}
	return t
}

// topicValue is the first value of the topic's chain that parses, in the unit of the topic's setting.
func (l Layers) topicValue(d *Def) (parsed, bool) {
	if v, ok := l.Topic[d.Name]; ok {
		if p, refusal := d.parse(v); refusal == nil {
			return p, true
		}
	}
	for _, s := range d.Synonyms {
		for _, f := range l.brokerChain(BrokerDef(s.Name)) {
			p, refusal := f.def.parse(f.value)
			if refusal == nil && (p.int >= 0 || s.Unit == 1) {
				p.kind = d.Type
				p.int = saturate(p.int, s.Unit)
				return p, true
			}
			if refusal == nil { // a negative number of hours or minutes: no bound
				p.kind, p.int = d.Type, -1
				return p, true
			}
		}
	}
	if d.Default == nil {
		return parsed{}, false
	}
	p, refusal := d.parse(*d.Default)
	return p, refusal == nil
}

// saturate multiplies two numbers >= 0 (or by 1), staying within int64.
func saturate(n, unit int64) int64 {
	if unit > 1 && n > (1<<63-1)/unit {
		return 1<<63 - 1
	}
	return n * unit
}

// resolver reads typed values by name. A name without a value gives the zero value.
type resolver struct {
	value func(name string) (parsed, bool)
}

func (r resolver) int(name string) int64     { p, _ := r.value(name); return p.int }
func (r resolver) real(name string) float64  { p, _ := r.value(name); return p.real }
func (r resolver) bool(name string) bool     { p, _ := r.value(name); return p.flag }
func (r resolver) text(name string) string   { p, _ := r.value(name); return p.text }
func (r resolver) list(name string) []string { p, _ := r.value(name); return p.list }
