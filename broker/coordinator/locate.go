package coordinator

import "unicode/utf16"

// PartitionFor is the partition, of n, that holds a group or a transactional id: as in Kafka, the absolute value of
// Java's String.hashCode modulo n. n is positive.
func PartitionFor(key string, n int32) int32 {
	h := javaHash(key)
	if h == -1<<31 { // has no absolute value
		return 0
	}
	return max(h, -h) % n
}

// javaHash is over UTF-16 code units, which differ from bytes and from runes.
func javaHash(s string) int32 {
	var h int32
	for _, r := range s {
		if r1, r2 := utf16.EncodeRune(r); r1 != '\uFFFD' {
			h = 31*(31*h+r1) + r2
		} else {
			h = 31*h + r
		}
	}
	return h
}
