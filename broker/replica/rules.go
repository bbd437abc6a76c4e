package replica

// Rules are the rules of replication that have a switch. The zero value has all of them off: use [AllRules].
type Rules struct {
	// EpochsDecideTruncation (KIP-101, KIP-279): a follower truncates where its history of epochs parts from the
	// leader's. Off: it truncates to its high watermark when it becomes a follower, and never after.
	EpochsDecideTruncation bool
	// TruncateBeforeWatermark (KAFKA-14704): a follower that must truncate does not look at the leader's watermark.
	TruncateBeforeWatermark bool
	// FullTruncationMovesWatermark (KAFKA-9491): a log that starts over at an offset has its watermark there.
	FullTruncationMovesWatermark bool
	// KeepLastFetchedEpoch (KAFKA-15510): the epoch of a follower's last record is that of its log, whatever the last
	// fetch returned. Off: an empty fetch makes the next one go without the check of divergence.
	KeepLastFetchedEpoch bool
	// FenceLeaderEpoch (KIP-320): a request or an answer of another leader epoch is refused.
	FenceLeaderEpoch bool
	// RefuseNewerEpochs (KAFKA-18723): a follower takes no batch whose epoch is above that of the leader it asked.
	RefuseNewerEpochs bool
	// MaximalISR (KIP-497): the watermark waits for the committed ISR and for every replica of a pending expansion; a
	// pending shrink counts only when committed.
	MaximalISR bool
	// JoiningHoldsWatermark: the watermark waits for replicas outside the ISR that are caught up and about to join.
	JoiningHoldsWatermark bool
	// MinISRGatesWatermark (KIP-966): the watermark stands still while fewer than min.insync.replicas are in sync.
	MinISRGatesWatermark bool
	// MinISRGatesProduce: acks=all is refused while fewer than min.insync.replicas are in sync.
	MinISRGatesProduce bool
	// FollowerWatermarkByLogEnd: a follower's watermark is never above its own log end.
	FollowerWatermarkByLogEnd bool
	// JoinAtEpochStart: a replica joins the ISR only when it has all that this leader had when it was elected.
	JoinAtEpochStart bool
	// FenceBrokerEpoch (KIP-841, KIP-903): a fenced or stopping broker, or an earlier life of one, does not join the
	// ISR, and its fetches do not count.
	FenceBrokerEpoch bool
	// LatestAfterEpochStart (KIP-207): a leader does not tell its watermark as the latest offset until it has reached
	// the log end at its election.
	LatestAfterEpochStart bool
	// WatermarkNeverBack: a watermark that is told smaller than the known one is ignored.
	WatermarkNeverBack bool
	// FollowerTruncatesFully (KAFKA-7414): out of range is answered by starting over at the leader's log start.
	FollowerTruncatesFully bool
	// FlushGatesPosition: with flush.messages, what is not flushed does not count, here or at the leader.
	FlushGatesPosition bool
}

// AllRules is every rule on.
func AllRules() Rules {
	return Rules{
		EpochsDecideTruncation: true, TruncateBeforeWatermark: true, FullTruncationMovesWatermark: true,
		KeepLastFetchedEpoch: true, FenceLeaderEpoch: true, RefuseNewerEpochs: true, MaximalISR: true,
		JoiningHoldsWatermark: true, MinISRGatesWatermark: true, MinISRGatesProduce: true,
		FollowerWatermarkByLogEnd: true, JoinAtEpochStart: true, FenceBrokerEpoch: true, LatestAfterEpochStart: true,
		WatermarkNeverBack: true, FollowerTruncatesFully: true, FlushGatesPosition: true,
	}
}
