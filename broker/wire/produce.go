package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// MaxProduceElements bounds topics and partitions together in one produce request. A decoded element takes about twenty times
// the three bytes that it may take on the wire, and a body may have 100 MiB: without the bound one request could ask
// for gigabytes. Real clients stay far below, since a partition comes with a batch of at least 61 bytes.
const MaxProduceElements = 1 << 17

// checkProduce walks over a produce request's arrays, allocating nothing. Bodies that end early pass: decoding finds that.
func checkProduce(version int16, body []byte) error {
	r := kbin.Reader{Src: body}
	flexible := version >= 9
	skipString(&r, flexible) // transactional id
	r.Span(2 + 4)            // acks, timeout
	elements := 0
	for topics := arrayLen(&r, flexible); topics > 0 && r.Ok(); topics-- {
		if version >= 13 {
			r.Span(16) // topic id
		} else {
			skipString(&r, flexible)
		}
		elements++
		for partitions := arrayLen(&r, flexible); partitions > 0 && r.Ok(); partitions-- {
			r.Span(4) // partition
			skipBytes(&r, flexible)
			if flexible {
				skipTags(&r)
			}
			if elements++; elements > MaxProduceElements {
				return fmt.Errorf("more than %d topics and partitions", MaxProduceElements)
			}
		}
		if flexible {
			skipTags(&r)
		}
		if elements > MaxProduceElements {
			return fmt.Errorf("more than %d topics and partitions", MaxProduceElements)
		}
	}
	return nil
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
