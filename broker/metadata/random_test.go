package metadata

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func nodesOf(ids ...int32) []kafka.NodeID {
	var out []kafka.NodeID
	for _, id := range ids {
		out = append(out, kafka.NodeID(id))
	}
	return out
}

func topicID(n uint64) kafka.TopicID {
	return kafka.TopicID{byte(n >> 8), byte(n), 7}
}

// generator makes legal random records for an image.
type generator struct {
	*rand.Rand
	topics uint64
}

// records is one legal entry for i.
func (g *generator) records(i *Image) []Record {
	var out []Record
	for range 1 + g.IntN(4) {
		r := g.record(i)
		if r == nil {
			continue
		}
		out = append(out, r...)
		i, _ = i.Apply(i.Version(), r)
	}
	return out
}

func (g *generator) record(i *Image) []Record {
	switch g.IntN(12) {
	case 0:
		b := Broker{ID: kafka.NodeID(g.IntN(6)), Epoch: i.NextBrokerEpoch(), Fenced: true, Rack: fmt.Sprint(g.IntN(3))}
		b.Directory[0], b.Incarnation[3] = byte(g.Uint32()), byte(g.Uint32())
		b.Endpoints = []Endpoint{{"PLAINTEXT", "host", uint16(g.Uint32()), Plaintext}}
		b.Features = []FeatureRange{{"metadata.version", 0, int16(g.IntN(9))}}
		return []Record{&RegisterBroker{b}}
	case 1:
		if b := i.Broker(kafka.NodeID(g.IntN(6))); b != nil {
			if g.IntN(5) == 0 {
				return []Record{&UnregisterBroker{b.ID, b.Epoch}}
			}
			return []Record{&BrokerChange{b.ID, b.Epoch, g.IntN(2) == 0, g.IntN(2) == 0, g.IntN(2) == 0}}
		}
	case 2, 3:
		name := fmt.Sprintf("topic-%d", g.IntN(8))
		if i.TopicByName(name) != nil {
			return nil
		}
		g.topics++
		out := []Record{&TopicRecord{topicID(g.topics), name}}
		for n := range int32(g.IntN(3 * chunkSize / 2)) {
			out = append(out, &PartitionRecord{topicID(g.topics), n, Partition{
				Replicas: nodesOf(0, 1, 2), ISR: nodesOf(0, 1, 2), Leader: 0}})
		}
		return out
	case 4:
		if t := g.topic(i); t != nil && g.IntN(2) == 0 {
			return []Record{&RemoveTopic{t.ID}}
		}
	case 5:
		if t := g.topic(i); t != nil {
			res := []Resource{TopicConfig(t.Name), DefaultBrokerConfig, BrokerConfig(3)}[g.IntN(3)]
			return []Record{&ConfigRecord{res, fmt.Sprint("k", g.IntN(4)), fmt.Sprint(g.IntN(9)), g.IntN(3) == 0}}
		}
	case 6:
		return []Record{&ProducerIDsRecord{Next: i.NextProducerID() + 1000}}
	case 7:
		return []Record{&FeatureRecord{fmt.Sprint("f", g.IntN(3)), int16(g.IntN(4))}}
	case 8:
		if t := g.topic(i); t != nil {
			return []Record{&PartitionRecord{t.ID, t.NumPartitions(), Partition{Replicas: nodesOf(2, 3), ISR: nodesOf(3), ELR: nodesOf(2), Leader: 3}}}
		}
	default:
		if t := g.topic(i); t != nil && t.NumPartitions() > 0 {
			return g.change(t)
		}
	}
	return nil
}

func (g *generator) topic(i *Image) *Topic {
	all := slices.Collect(i.Topics())
	if len(all) == 0 {
		return nil
	}
	return all[g.IntN(len(all))]
}

// change is some legal change of some partition.
func (g *generator) change(t *Topic) []Record {
	n := int32(g.IntN(int(t.NumPartitions())))
	before := t.Partition(n)
	after := before.Clone()
	electable := slices.Concat(before.ISR, before.ELR)
	g.Shuffle(len(electable), func(i, j int) { electable[i], electable[j] = electable[j], electable[i] })
	unclean := len(electable) == 0
	if unclean {
		electable = slices.Clone(before.Replicas)
	}
	at := 1 + g.IntN(len(electable))
	after.ISR, after.ELR = electable[:at], electable[at:]
	switch {
	case g.IntN(4) == 0:
		after.Leader = kafka.NoNode
		if g.IntN(3) == 0 {
			after.ISR, after.ELR, after.LastKnownELR = nil, nil, electable[:1]
		}
	default:
		after.Leader = electable[0]
	}
	if unclean {
		after.Recovery = Recovering
	}
	if after.Leader != before.Leader {
		after.LeaderEpoch++
	}
	r, ok := ChangeOf(kafka.TopicIDPartition{TopicID: t.ID, Partition: n}, before, after)
	if !ok {
		return nil
	}
	if unclean {
		r.Fields |= SetRecovery
		r.Recovery = Recovering
	}
	return []Record{r}
}

// TestRandomRecords holds what Apply promises: the old image stays as it was, the delta is what differs, encoding loses
// nothing, and a snapshot is the image.
func TestRandomRecords(t *testing.T) {
	for seed := range uint64(15) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
		image := &Image{}
		for index := uint64(1); index < 120; index++ {
			records := g.records(image)
			encoded := EncodeRecords(nil, records)
			decoded, err := DecodeRecords(encoded)
			if err != nil {
				t.Fatalf("seed %d entry %d: %v", seed, index, err)
			}
			if again := EncodeRecords(nil, decoded); !bytes.Equal(encoded, again) {
				t.Fatalf("seed %d entry %d: encoding what was decoded gives other bytes", seed, index)
			}
			before := EncodeRecords(nil, image.Records())
			next, delta := image.Apply(index, decoded)
			if !bytes.Equal(before, EncodeRecords(nil, image.Records())) {
				t.Fatalf("seed %d entry %d: Apply changed the image that it was called on", seed, index)
			}
			if diff := Diff(image, next); !reflect.DeepEqual(delta, diff) {
				t.Fatalf("seed %d entry %d: the delta is\n%+v\nthe images differ by\n%+v", seed, index, delta, diff)
			}
			checkCounts(t, next)
			image = next
		}
		snapshot := EncodeRecords(nil, image.Records())
		records, err := DecodeRecords(snapshot)
		if err != nil {
			t.Fatal(err)
		}
		restored := FromRecords(image.Version(), records)
		if d := Diff(image, restored); !d.Empty() || restored.Version() != image.Version() {
			t.Fatalf("seed %d: the image restored from the snapshot differs: %+v", seed, d)
		}
		if !bytes.Equal(snapshot, EncodeRecords(nil, restored.Records())) {
			t.Fatalf("seed %d: the snapshot of the restored image differs", seed)
		}
	}
}

func checkCounts(t *testing.T, i *Image) {
	t.Helper()
	topics, partitions := 0, 0
	for topic := range i.Topics() {
		topics++
		for n, p := range topic.Partitions() {
			partitions++
			if topic.Partition(n) != p || p.broken() != "" {
				t.Fatalf("%s-%d: %+v: %s", topic.Name, n, p, p.broken())
			}
		}
		if i.TopicByID(topic.ID) != topic {
			t.Fatalf("topic %s is not found by its id", topic.Name)
		}
	}
	if topics != i.NumTopics() || partitions != i.NumPartitions() {
		t.Fatalf("%d topics and %d partitions, counted as %d and %d", topics, partitions, i.NumTopics(), i.NumPartitions())
	}
}

// TestReadersBesideApply is for the race detector: old images are read while newer ones are made of them, twice.
func TestReadersBesideApply(t *testing.T) {
	image := manyPartitions(20, 100)
	want := EncodeRecords(nil, image.Records())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 20 {
				if got := EncodeRecords(nil, image.Records()); !bytes.Equal(got, want) {
					t.Error("an image changed while it was read")
				}
			}
		})
	}
	for seed := range uint64(2) {
		readers.Go(func() {
			g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), topics: 1000}
			next := image
			for index := image.Version() + 1; index < 200; index++ {
				next, _ = next.Apply(index, g.records(next))
			}
		})
	}
	readers.Wait()
}

// manyPartitions is an image with so many topics of so many partitions.
func manyPartitions(topics, partitions int) *Image {
	image := &Image{}
	for n := range topics {
		id := topicID(uint64(n))
		records := []Record{&TopicRecord{id, fmt.Sprintf("topic-%05d", n)}}
		for p := range partitions {
			records = append(records, &PartitionRecord{id, int32(p), Partition{
				Replicas: nodesOf(0, 1, 2), ISR: nodesOf(0, 1, 2), Leader: 0}})
		}
		image, _ = image.Apply(uint64(n+1), records)
	}
	return image
}
