package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// MaxProduceElements bounds topics, partitions and tags together in one produce request. A decoded element takes about twenty times
// the two or three bytes that it may take on the wire, and a body may have 100 MiB: without the bound one request could ask
// for gigabytes. Real clients stay far below, since a partition comes with a batch of at least 61 bytes, and use no tags.
const MaxProduceElements = 1 << 17

// checkProduce refuses a produce request with too many elements; what an array claims counts, whether it is there or not. Bodies that end
// early within the bound pass: decoding finds that.
func checkProduce(version int16, body []byte) error {
	w := produceWalk{Reader: kbin.Reader{Src: body}, flexible: version >= 9, byID: version >= 13, room: MaxProduceElements}
	w.walk()
	if w.room < 0 {
		return fmt.Errorf("more than %d topics, partitions and tags", MaxProduceElements)
	}
	return nil
}

// produceWalk reads over a produce request, allocating nothing. It ends when there is no room for more elements.
type produceWalk struct {
	kbin.Reader
	flexible, byID     bool
	topics, partitions int
	room               int // for elements
}

func (w *produceWalk) walk() {
	skipString(&w.Reader, w.flexible) // transactional id
	w.Span(2 + 4)                     // acks, timeout
	for n := w.array(); n > 0 && w.goesOn(); n-- {
		w.topics++
		if w.byID {
			w.Span(16)
		} else {
			skipString(&w.Reader, w.flexible)
		}
		for n := w.array(); n > 0 && w.goesOn(); n-- {
			w.partitions++
			w.Span(4) // partition
			skipBytes(&w.Reader, w.flexible)
			w.tags()
		}
		w.tags()
	}
	w.tags()
}

func (w *produceWalk) goesOn() bool { return w.Ok() && w.room >= 0 }

// array takes room for as many elements as an array claims.
func (w *produceWalk) array() int32 {
	n := arrayLen(&w.Reader, w.flexible)
	w.room -= int(max(n, 0))
	return n
}

// tags reads over tags, which take room too: those that nobody knows are kept.
func (w *produceWalk) tags() {
	if !w.flexible || !w.goesOn() {
		return
	}
	n := w.Uvarint()
	w.room -= int(n)
	for ; n > 0 && w.goesOn(); n-- {
		_ = w.Uvarint() // the tag's number
		w.Span(int(w.Uvarint()))
	}
}

func arrayLen(r *kbin.Reader, flexible bool) int32 {
	if flexible {
		return int32(r.Uvarint()) - 1
	}
	return r.Int32()
}

// skipString reads over a string that may be null.
func skipString(r *kbin.Reader, flexible bool) {
	if flexible {
		r.Span(max(int(r.Uvarint())-1, 0))
	} else {
		r.Span(max(int(r.Int16()), 0))
	}
}

// skipBytes reads over bytes that may be null.
func skipBytes(r *kbin.Reader, flexible bool) {
	if flexible {
		r.Span(max(int(r.Uvarint())-1, 0))
	} else {
		r.Span(max(int(r.Int32()), 0))
	}
}
