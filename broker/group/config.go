package group

import "time"

// Config are the settings of groups; Kafka's names are in the comments.
type Config struct {
	MinSessionTimeout     time.Duration // group.min.session.timeout.ms
	MaxSessionTimeout     time.Duration // group.max.session.timeout.ms
	InitialRebalanceDelay time.Duration // group.initial.rebalance.delay.ms
	MaxSize               int           // group.max.size: members of one group
	MaxMetadataBytes      int           // offset.metadata.max.bytes: of one committed offset
	Retention             time.Duration // offsets.retention.minutes
	// NewMemberJoinTimeout bounds how long a member that has never been answered may wait to join: it cannot send
	// heartbeats, so a client that went away would hold the rebalance. No setting in Kafka either.
	NewMemberJoinTimeout time.Duration
}

// DefaultConfig is Kafka's.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeout:     6 * time.Second,
		MaxSessionTimeout:     30 * time.Minute,
		InitialRebalanceDelay: 3 * time.Second,
		MaxSize:               1<<31 - 1,
		MaxMetadataBytes:      4096,
		Retention:             7 * 24 * time.Hour,
		NewMemberJoinTimeout:  5 * time.Minute,
	}
}
