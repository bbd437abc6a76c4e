package record

// Attributes are a batch's flags. The bits above those named here are 0 in everything that Kafka writes, and kept as found.
type Attributes int16

const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// Codec is the compression of the records; values above [Zstd] are undefined.
func (a Attributes) Codec() Codec { return Codec(a & attrCodec) }

// TimestampType tells whose clock the timestamps are of.
func (a Attributes) TimestampType() TimestampType {
	if a&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// IsTransactional tells whether the batch belongs to a transaction, its marker included.
func (a Attributes) IsTransactional() bool { return a&attrTransactional != 0 }

// IsControl tells whether the batch holds a control record.
func (a Attributes) IsControl() bool { return a&attrControl != 0 }

// HasDeleteHorizon tells whether compaction has set a horizon, which then stands in place of the base timestamp.
func (a Attributes) HasDeleteHorizon() bool { return a&attrDeleteHorizon != 0 }

// TimestampType tells whose clock the timestamps of a batch are of.
type TimestampType int8

const (
	CreateTime    TimestampType = 0 // the producer's
	LogAppendTime TimestampType = 1 // the leader's, one for all records of a batch
)

// String is Kafka's name, as in message.timestamp.type.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}
