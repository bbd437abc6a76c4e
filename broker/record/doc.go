// Package record is the record batch of magic 2 as a view on bytes: header fields, CRC-32C, offsets assigned in place,
// records inside, codecs, control batches, and the leader's rules for what a producer may send.
//
// It is not a log: it knows nothing of files, of what was stored before, or of producers' sequences
// (package producerstate). It holds no state and starts nothing; any goroutine may call any function. The pools of the
// codecs are the one exception, and they are safe for use by many goroutines.
//
// # The batch
//
//	 0 baseOffset      int64     covered by no checksum: the leader assigns it in place
//	 8 length          int32     bytes after this field
//	12 leaderEpoch     int32     covered by no checksum: the leader assigns it in place
//	16 magic           int8      2
//	17 crc             uint32    CRC-32C (Castagnoli) of byte 21 to the end
//	21 attributes      int16     bits 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control, 6 delete horizon
//	23 lastOffsetDelta int32     last offset - base offset; compaction keeps it, so it may exceed count-1 in a log
//	27 baseTimestamp   int64     with bit 6: the time from which tombstones and markers may go
//	35 maxTimestamp    int64
//	43 producerId      int64     -1: not idempotent
//	51 producerEpoch   int16
//	53 baseSequence    int32
//	57 count           int32     records below; 0 in a batch that compaction emptied
//	61 records                   compressed as one block if the codec says so
//
// A record is: varint length of what follows, int8 attributes (0), varlong timestamp delta, varint offset delta, key and
// value (varint length, -1 for null, bytes), varint number of headers, headers (key never null, value may be).
// Varints are zig-zag.
//
// # Ownership
//
// A [Batch] never copies: it is valid as long as the bytes it views, and the Set methods write into them. Keys, values
// and headers that [Iterator] gives are views too: of the batch, or, when it is compressed, of a pooled buffer that
// [Iterator.Close] gives back.
package record
