package metadata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// TestEncodingIsFixed keeps the bytes of a log entry as they are in clusters that run: a difference needs a new version of
// the record and a feature level.
func TestEncodingIsFixed(t *testing.T) {
	f := func(want string, r Record) {
		t.Helper()
		if got := hex.EncodeToString(EncodeRecords(nil, []Record{r})); got != want {
			t.Errorf("%T is encoded as\n%s\nwant\n%s", r, got, want)
		}
	}
	var id kafka.TopicID
	for i := range id {
		id[i] = byte(i)
	}
	f("0101000201"+"63", &ClusterRecord{"c"})
	f("01020003"+"0166"+"04", &FeatureRecord{"f", 2})
	f("0103004d"+"02"+"0e"+"000102030405060708090a0b0c0d0e0f"+"000102030405060708090a0b0c0d0e0f"+"0172"+
		"01"+"09504c41494e54455854"+"0168"+"889001"+"00"+"01"+"106d657461646174612e76657273696f6e"+"00"+"06"+"05"+"01"+"00"+"00",
		&RegisterBroker{Broker{ID: 1, Epoch: 7, Directory: kafka.DirectoryID(id), Incarnation: kafka.UUID(id), Rack: "r",
			Endpoints: []Endpoint{{"PLAINTEXT", "h", 9220, Plaintext}}, Features: []FeatureRange{{"metadata.version", 0, 3}},
			RegisteredAt: 5, Fenced: true}})
	f("01040005"+"02"+"0e"+"01"+"00"+"01", &BrokerChange{ID: 1, Epoch: 7, Fenced: true, DiskFull: true})
	f("01050002"+"02"+"0e", &UnregisterBroker{1, 7})
	f("01060012"+"000102030405060708090a0b0c0d0e0f"+"0174", &TopicRecord{id, "t"})
	f("01070010"+"000102030405060708090a0b0c0d0e0f", &RemoveTopic{id})
	f("0108001f"+"000102030405060708090a0b0c0d0e0f"+"04"+"020204"+"0102"+"0104"+"00"+"00"+"00"+"02"+"06"+"08"+"00",
		&PartitionRecord{id, 2, Partition{Replicas: nodesOf(1, 2), ISR: nodesOf(1), ELR: nodesOf(2), Leader: 1, LeaderEpoch: 3, Epoch: 4}})
	f("01090015"+"000102030405060708090a0b0c0d0e0f"+"04"+"09"+"04"+"0104",
		&PartitionChange{TopicID: id, Number: 2, Fields: SetLeader | SetISR, Leader: 2, ISR: nodesOf(2)})
	f("010a0009"+"04"+"0174"+"016b"+"00"+"0276"+"76", &ConfigRecord{TopicConfig("t"), "k", "vv", false})
	f("010a0005"+"08"+"00"+"016b"+"01", &ConfigRecord{DefaultBrokerConfig, "k", "", true})
	f("010b0004"+"d00f"+"02"+"0e", &ProducerIDsRecord{1000, 1, 7})
	f("010c0001"+"0e", &BrokerEpochRecord{7})
}

func TestDamagedRecords(t *testing.T) {
	good := EncodeRecords(nil, manyPartitions(1, 1).Records())
	f := func(what string, b []byte) {
		t.Helper()
		if _, err := DecodeRecords(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v, want ErrCorrupt", what, err)
		}
	}
	f("nothing", nil)
	f("unknown format", []byte{2})
	f("unknown type", []byte{1, 99, 0, 0})
	f("type 0", []byte{1, 0, 0, 0})
	f("newer version of a record", []byte{1, byte(typeBrokerEpoch), 1, 1, 0})
	f("body longer than its fields", []byte{1, byte(typeBrokerEpoch), 0, 2, 0, 0})
	f("list longer than the body", append([]byte{1, byte(typePartition), 0, 19}, append(make([]byte, 17), 0xff, 0x7f)...))
	f("number too large for its type", []byte{1, byte(typeFeature), 0, 5, 0, 0xff, 0xff, 0xff, 0x7f})
	for n := 1; n < len(good); n++ {
		if records, err := DecodeRecords(good[:n]); err == nil && len(records) == len(manyPartitions(1, 1).Records()) {
			t.Errorf("cut at %d of %d bytes: all records were read", n, len(good))
		}
	}
}

func FuzzDecodeRecords(f *testing.F) {
	f.Add(EncodeRecords(nil, manyPartitions(2, 2).Records()))
	g := &generator{Rand: rand.New(rand.NewPCG(1, 1))}
	image := &Image{}
	for i := range uint64(50) {
		r := g.records(image)
		f.Add(EncodeRecords(nil, r))
		image, _ = image.Apply(i+1, r)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := DecodeRecords(b)
		if err != nil {
			return
		}
		again, err := DecodeRecords(EncodeRecords(nil, records))
		if err != nil {
			t.Fatalf("what was decoded and encoded cannot be decoded: %v", err)
		}
		if !bytes.Equal(EncodeRecords(nil, records), EncodeRecords(nil, again)) {
			t.Fatal("decoding and encoding again gives other bytes")
		}
	})
}
