package topic

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed bounds the partitions that are named in a message.
const maxNamed = 3

// behind are partitions with replicas that are not in sync, and the brokers that have those. Replicas that are on their way do not count.
type behind struct {
	partitions []int
	brokers    []int32 // ascending
}

// add looks at one more partition.
func (b *behind) add(number int, p Partition) {
	short := false
	for _, id := range p.Replicas {
		if slices.Contains(p.ISR, id) || slices.Contains(p.Adding, id) {
			continue
		}
		short = true
		if i, found := slices.BinarySearch(b.brokers, id); !found {
			b.brokers = slices.Insert(b.brokers, i, id)
		}
	}
	if short {
		b.partitions = append(b.partitions, number)
	}
}

// some names partitions, not too many.
func some(partitions []int) string {
	var named []string
	for _, n := range partitions[:min(len(partitions), maxNamed)] {
		named = append(named, fmt.Sprint(n))
	}
	if len(partitions) > maxNamed {
		named = append(named, "...")
	}
	return strings.Join(named, ", ")
}

// String names some of the partitions, and the brokers.
func (b *behind) String() string {
	var brokers []string
	for _, id := range b.brokers {
		brokers = append(brokers, fmt.Sprint(id))
	}
	return some(b.partitions) + " (behind or away: broker " + strings.Join(brokers, ", ") + ")"
}
