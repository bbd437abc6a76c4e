package seglog

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// keySlotBytes is the memory of one key, as in Kafka.
const keySlotBytes = 24

// keyMap is the newest offset of each key of a part of the log, by 128 bits of the keys' SHA-256: keys themselves may be
// of any size. Two keys of one hash would lose a record; that no one can find two is why it is this hash.
type keyMap struct {
	slots  []keySlot // open addressing, a power of two
	count  int
	most   int          // keys that it takes
	latest kafka.Offset // last offset that was offered; NoOffset: none
}

type keySlot struct {
	hi, lo uint64
	offset kafka.Offset // + 1, so that the zero slot is free
}

// newKeyMap makes a map of at most the given memory. It starts small and grows.
func newKeyMap(bytes int) *keyMap {
	slots := 1024
	for slots*2*keySlotBytes <= bytes {
		slots *= 2
	}
	return &keyMap{slots: make([]keySlot, 1024), most: slots / 4 * 3, latest: kafka.NoOffset}
}

func hashKey(key []byte) (hi, lo uint64) {
	h := sha256.Sum256(key)
	return binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:])
}

// full tells whether a batch of n records may not fit any more.
func (m *keyMap) full(n int) bool { return m.count+n > m.most && m.count > 0 }

// put notes that the key has a record at offset, which rises from call to call. A single batch may exceed the bound: a
// map that takes not even one batch would never get on.
func (m *keyMap) put(key []byte, offset kafka.Offset) {
	if m.count >= len(m.slots)/4*3 {
		m.grow()
	}
	hi, lo := hashKey(key)
	if s := m.slot(hi, lo); s.offset == 0 {
		*s = keySlot{hi, lo, offset + 1}
		m.count++
	} else {
		s.offset = offset + 1
	}
}

// get is the newest offset of a key, NoOffset when it has none in this part of the log.
func (m *keyMap) get(key []byte) kafka.Offset {
	hi, lo := hashKey(key)
	return m.slot(hi, lo).offset - 1
}

// slot is that of the key, or the free one where it belongs.
func (m *keyMap) slot(hi, lo uint64) *keySlot {
	mask := uint64(len(m.slots) - 1)
	for i := hi & mask; ; i = (i + 1) & mask {
		if s := &m.slots[i]; s.offset == 0 || s.hi == hi && s.lo == lo {
			return s
		}
	}
}

func (m *keyMap) grow() {
	old := m.slots
	m.slots = make([]keySlot, 2*len(old))
	for _, s := range old {
		if s.offset != 0 {
			*m.slot(s.hi, s.lo) = s
		}
	}
}
