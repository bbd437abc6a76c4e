package wire

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func produce(version int16, topics, partitions int, records []byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Version = version
	for range topics {
		t := kmsg.NewProduceRequestTopic()
		if version < 13 {
			t.Topic = "topic"
		}
		for range partitions {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Records = records
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	return req.AppendTo(nil)
}

// Every version: what is at the bound decodes, with records that are views; what is beyond is refused.
func TestProduceElementsAreBounded(t *testing.T) {
	for version := int16(3); version <= 13; version++ {
		h := RequestHeader{Key: kmsg.Produce, Version: version}
		body := produce(version, 3, 5, []byte("records"))
		req, err := DecodeRequest(h, body)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		view := req.(*kmsg.ProduceRequest).Topics[2].Partitions[4].Records
		if at := bytes.LastIndex(body, []byte("records")); string(view) != "records" || &view[0] != &body[at] {
			t.Errorf("version %d: records %q are not a view of the body", version, view)
		}
		for n := range body { // cut off anywhere: an error
			if _, err := DecodeRequest(h, body[:n]); err == nil {
				t.Fatalf("version %d: %d of %d bytes decode", version, n, len(body))
			}
		}
		if version != 3 && version != 9 && version != 13 { // the layouts
			continue
		}
		if _, err := DecodeRequest(h, produce(version, 1, MaxProduceElements-1, nil)); err != nil {
			t.Errorf("version %d, one topic with %d partitions: %v", version, MaxProduceElements-1, err)
		}
		for _, c := range [][2]int{{1, MaxProduceElements}, {MaxProduceElements + 1, 0}, {MaxProduceElements/2 + 1, 1}} {
			if _, err := DecodeRequest(h, produce(version, c[0], c[1], nil)); err == nil {
				t.Errorf("version %d, %d topics with %d partitions: no error", version, c[0], c[1])
			}
		}
	}
}

// What checkProduce reads over, kmsg reads: a body that kmsg accepts must not be cut short by a mistake in the walk.
func FuzzCheckProduce(f *testing.F) {
	for version := int16(3); version <= 13; version++ {
		f.Add(version, produce(version, 2, 2, []byte("records")))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 3 || version > 13 || len(body) > 10_000 {
			return
		}
		if err := checkProduce(version, body); err != nil {
			t.Fatalf("%d bytes refused: %v", len(body), err)
		}
	})
}
