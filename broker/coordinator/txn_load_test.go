package coordinator

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Offsets of a transaction, which another broker may have written, are there when it is committed and not before.
func TestTransactionalOffsetsWaitForTheirMarker(t *testing.T) {
	log := &memLog{}
	put := func(b record.Batch) {
		log.Append(0, b, func(AppendResult) {})
	}
	offsets := func(pid kafka.ProducerID, group string, offset int64) {
		rb := record.NewBuilder(record.BuilderOptions{Idempotent: true, Transactional: true, ProducerID: pid, BaseSequence: record.NoSequence})
		key := kmsg.OffsetCommitKey{Version: 1, Group: group, Topic: "t"}
		value := kmsg.NewOffsetCommitValue()
		value.Version, value.Offset = 3, offset
		rb.Add(1, key.AppendTo(nil), value.AppendTo(nil))
		b, err := rb.Build()
		if err != nil {
			t.Fatal(err)
		}
		put(b)
	}
	marker := func(pid kafka.ProducerID, commit bool) {
		put(record.EndTxnMarker{ProducerID: pid, Commit: commit, Timestamp: 1}.Batch())
	}
	offsets(1, "committed", 5)
	offsets(2, "aborted", 6)
	offsets(3, "open", 7)
	offsets(1, "committed", 8)
	marker(2, false)
	marker(1, true)

	b := newBench(t, 1)
	b.groups.Elected(0, 0, log)
	b.load()
	want(t, "committed", b.fetched("committed"), "8")
	want(t, "aborted", b.fetched("aborted"), "-1")
	want(t, "open", b.fetched("open"), "-1")
}
