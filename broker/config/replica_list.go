package config

import (
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// ReplicaList is replicas of a topic that a throttle is for: partition:broker pairs with commas between them, or * for all.
type ReplicaList string

// Has tells whether the replica of a partition on a broker is in the list.
func (l ReplicaList) Has(partition int32, broker kafka.NodeID) bool {
	if l == "" || l == "*" {
		return l == "*"
	}
	for pair := range strings.SplitSeq(string(l), ",") {
		p, b, _ := strings.Cut(pair, ":")
		if number(p) == int64(partition) && number(b) == int64(broker) {
			return true
		}
	}
	return false
}

// number is -1 for what is none.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return -1
	}
	return n
}
