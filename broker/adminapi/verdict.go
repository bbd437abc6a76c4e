package adminapi

import (
	"strconv"
	"strings"
)

// Effect is what a partition would lose if the brokers of a question stopped.
type Effect string

// The effects, the worst first.
const (
	LosesData         Effect = "loses-data"         // no other replica has everything that was acknowledged
	LosesAvailability Effect = "loses-availability" // no leader would be left
	LosesAcks         Effect = "loses-acks"         // the in-sync set would fall below min.insync.replicas
	LosesQuorum       Effect = "loses-quorum"       // of the cluster's metadata: no majority of voters would be left
)

// Verdict answers whether brokers may be stopped together now.
type Verdict struct {
	Brokers []int32 `json:"brokers"` // asked for, ascending
	Safe    bool    `json:"safe"`    // no block
	// ImageVersion is the version of the cluster's state that was judged.
	ImageVersion uint64 `json:"imageVersion"`
	// Blocks are the worst first, then by topic and partition, at most MaxBlocks of them.
	Blocks []Block `json:"blocks,omitempty"`
	// Total counts blocks, those left out of Blocks too.
	Total int `json:"total"`
	// Unavoidable are partitions that lose something whenever any of their brokers stops, since they have too few replicas. They
	// forbid nothing, waiting would not help; at most MaxBlocks of UnavoidableTotal.
	Unavoidable      []Block `json:"unavoidable,omitempty"`
	UnavoidableTotal int     `json:"unavoidableTotal"`
}

// MaxBlocks bounds the blocks in one verdict.
const MaxBlocks = 100

// Block is one thing in the way.
type Block struct {
	Effect    Effect `json:"effect"`
	Topic     string `json:"topic,omitempty"`
	Partition int32  `json:"partition"` // -1 for the quorum
	Reason    string `json:"reason"`    // one clause: in-sync set [1], brokers to stop [1]
	Clears    string `json:"clears"`    // what would lift the block: broker 2 catching up
}

// String is the verdict in one line.
func (v Verdict) String() string {
	ids := make([]string, len(v.Brokers))
	for i, id := range v.Brokers {
		ids[i] = strconv.Itoa(int(id))
	}
	if v.Safe {
		return "safe to stop " + strings.Join(ids, ",")
	}
	s := "not safe to stop " + strings.Join(ids, ",") + ": " + strconv.Itoa(v.Total) + " in the way"
	if len(v.Blocks) > 0 {
		s += ", first " + v.Blocks[0].String()
	}
	return s
}

// String is the block in one line.
func (b Block) String() string {
	where := "metadata quorum"
	if b.Effect != LosesQuorum {
		where = b.Topic + "-" + strconv.Itoa(int(b.Partition))
	}
	s := where + " " + string(b.Effect) + " (" + b.Reason + ")"
	if b.Clears != "" {
		s += ", clears by " + b.Clears
	}
	return s
}
