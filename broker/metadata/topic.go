package metadata

import (
	"iter"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Topic is one life of a topic. It is immutable.
type Topic struct {
	ID         kafka.TopicID
	Name       string
	partitions partitionList
}

// NumPartitions is the number of partitions; they are numbered [0, NumPartitions).
func (t *Topic) NumPartitions() int32 { return int32(t.partitions.len) }

// Partition is partition number n, nil when there is none.
func (t *Topic) Partition(n int32) *Partition {
	if n < 0 || int(n) >= t.partitions.len {
		return nil
	}
	return t.partitions.at(int(n))
}

// Partitions yields the partitions in order of their number.
func (t *Topic) Partitions() iter.Seq2[int32, *Partition] {
	return func(yield func(int32, *Partition) bool) {
		n := int32(0)
		for _, c := range t.partitions.chunks {
			for _, p := range c {
				if !yield(n, p) {
					return
				}
				n++
			}
		}
	}
}

// chunkSize balances the two slices that a change of one partition copies: the chunk, and the list of chunks.
const chunkSize = 256

// partitionList is a list of partitions in chunks of chunkSize, all full but the last. A list that was handed out is
// never written to: see partitionEdit.
type partitionList struct {
	chunks [][]*Partition
	len    int
}

func (l partitionList) at(i int) *Partition { return l.chunks[i/chunkSize][i%chunkSize] }

// partitionEdit is a list under construction. It copies the list of chunks once and each chunk at its first change.
type partitionEdit struct {
	list   partitionList
	listed bool         // list.chunks is our own
	owned  map[int]bool // chunks that are our own
}

func (e *partitionEdit) own(chunk int) {
	if !e.listed {
		e.list.chunks = slices.Clone(e.list.chunks)
		e.listed, e.owned = true, map[int]bool{}
	}
	if chunk == len(e.list.chunks) {
		e.list.chunks = append(e.list.chunks, nil)
		e.owned[chunk] = true
	}
	if !e.owned[chunk] {
		e.list.chunks[chunk] = slices.Clone(e.list.chunks[chunk])
		e.owned[chunk] = true
	}
}

// set replaces partition i, or appends it when i is the length.
func (e *partitionEdit) set(i int, p *Partition) {
	chunk := i / chunkSize
	e.own(chunk)
	if i == e.list.len {
		e.list.chunks[chunk] = append(e.list.chunks[chunk], p)
		e.list.len++
		return
	}
	e.list.chunks[chunk][i%chunkSize] = p
}
