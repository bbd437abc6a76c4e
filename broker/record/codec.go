package record

// Codec is the compression of a batch's records, as in the low three bits of its attributes.
type Codec int8

const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

var codecNames = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

// Known tells whether Kafka defines the codec.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String is Kafka's name of the codec.
func (c Codec) String() string {
	if !c.Known() {
		return "unknown"
	}
	return codecNames[c]
}

// ParseCodec reads a value of compression.type; "uncompressed" and "none" are [None]. The value "producer" is no codec.
func ParseCodec(s string) (Codec, bool) {
	if s == "uncompressed" {
		return None, true
	}
	for c, name := range codecNames {
		if name == s {
			return Codec(c), true
		}
	}
	return None, false
}
