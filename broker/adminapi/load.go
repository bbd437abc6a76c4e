package adminapi

// Load is what one broker carries, for balancing and for people.
type Load struct {
	NodeID     int32           `json:"nodeId"`
	At         int64           `json:"at"`
	DiskBytes  int64           `json:"diskBytes"` // size of the file system of the data directory; -1 when it is not known
	FreeBytes  int64           `json:"freeBytes"`
	Partitions []PartitionLoad `json:"partitions"` // by topic and partition
}

// PartitionLoad is one replica's part. Rates are bytes per second over the last one to two minutes, or since the broker began.
type PartitionLoad struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Leader    bool    `json:"leader"`
	SizeBytes int64   `json:"sizeBytes"`
	InRate    float64 `json:"inRate"`
	OutRate   float64 `json:"outRate"` // to consumers, without replication
}
