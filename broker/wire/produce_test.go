package wire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
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

// Tags that nobody knows are elements too: a client could send millions of them, each of which decoding keeps.
func TestProduceTagsAreBounded(t *testing.T) {
	h := RequestHeader{Key: kmsg.Produce, Version: 9}
	req := kmsg.NewPtrProduceRequest()
	req.Version = h.Version
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{}}}}
	bare := req.AppendTo(nil) // it ends with the numbers of tags, 0 each, of partition, topic and request
	for i, place := range []string{"partition", "topic", "request"} {
		at := len(bare) - 3 + i
		tagged := func(n int) []byte {
			body := kbin.AppendUvarint(slices.Clone(bare[:at]), uint32(n))
			for key := range uint32(n) {
				body = append(kbin.AppendUvarint(body, 100+key), 0) // of no bytes
			}
			return append(body, bare[at+1:]...)
		}
		decoded, err := DecodeRequest(h, tagged(MaxProduceElements-2))
		if err != nil {
			t.Errorf("%d tags of the %s: %v", MaxProduceElements-2, place, err)
		} else if place == "request" && decoded.(*kmsg.ProduceRequest).UnknownTags.Len() != MaxProduceElements-2 {
			t.Errorf("%d tags of the %s are decoded", decoded.(*kmsg.ProduceRequest).UnknownTags.Len(), place)
		}
		if _, err := DecodeRequest(h, tagged(MaxProduceElements-1)); err == nil {
			t.Errorf("%d tags of the %s: no error", MaxProduceElements-1, place)
		}
	}
}

// What an array claims counts, whether it is there or not.
func TestProduceClaimsAreBounded(t *testing.T) {
	body := append([]byte{0, 0, 1, 0, 0, 0, 0}, 0xff, 0xff, 0xff, 0x3f) // 2^27-2 topics
	body = append(body, make([]byte, 1<<20)...)
	if err := checkProduce(9, body); err == nil {
		t.Error("no error")
	}
}

// The walk sees what kmsg decodes: as many topics and partitions, and the same end.
func FuzzCheckProduce(f *testing.F) {
	for version := int16(3); version <= 13; version++ {
		f.Add(version, produce(version, 2, 2, []byte("records")))
		f.Add(version, produce(version, 1, 0, nil)[:5])
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 3 || version > 13 || len(body) > 10_000 { // so short that the bound is not reached
			return
		}
		w := produceWalk{Reader: kbin.Reader{Src: body}, flexible: version >= 9, byID: version >= 13, room: MaxProduceElements}
		w.walk()
		req := kmsg.NewPtrProduceRequest()
		req.Version = version
		if err := Decode(req, body); err != nil {
			return
		}
		partitions := 0
		for i := range req.Topics {
			partitions += len(req.Topics[i].Partitions)
		}
		if !w.Ok() || w.room < 0 || w.topics != len(req.Topics) || w.partitions != partitions {
			t.Fatalf("walked over %d topics and %d partitions, room for %d, %v; decoded %d and %d", w.topics, w.partitions, w.room, w.Ok(), len(req.Topics), partitions)
		}
	})
}
