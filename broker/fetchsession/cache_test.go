package fetchsession

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func request(session, epoch int32, partitions ...int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.SessionID, req.SessionEpoch = 12, session, epoch
	t := kmsg.NewFetchRequestTopic()
	t.Topic = "a"
	for _, n := range partitions {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition = n
		t.Partitions = append(t.Partitions, p)
	}
	if len(partitions) > 0 {
		req.Topics = append(req.Topics, t)
	}
	return req
}

func numbers(n int) []int32 {
	var all []int32
	for i := range n {
		all = append(all, int32(i))
	}
	return all
}

// With room for k of n partitions that always have data, each is served once in any n/k consecutive incremental fetches.
func TestRotationServesAllInTurn(t *testing.T) {
	const n, k = 12, 3
	c := NewCache(Options{NewID: func() uint32 { return 7 }})
	f, _ := c.Open(request(0, 0, numbers(n)...), image{}, 0)
	id := c.Finish(f, 0)
	served := map[int32]int{}
	for i := range int32(n / k * 5) {
		f, code := c.Open(request(id, i+1), image{}, 0)
		if code != kafka.None {
			t.Fatal(code)
		}
		room := k
		for p := range f.All() {
			var r Result
			if room > 0 {
				r.RecordBytes, room = 100, room-1
				served[p.Partition]++
			}
			f.Include(p, r)
		}
		c.Finish(f, 0)
		if (i+1)%(n/k) == 0 {
			for p := range int32(n) {
				if want := int(i+1) / (n / k); served[p] != want {
					t.Fatalf("after %d fetches: partition %d served %d times, want %d", i+1, p, served[p], want)
				}
			}
		}
	}
}

func TestEpochWrapsToOne(t *testing.T) {
	if nextEpoch(math.MaxInt32) != 1 || nextEpoch(0) != 1 || nextEpoch(41) != 42 {
		t.Error("want 1 after the largest epoch, else the next")
	}
}

func TestIDsArePositiveAndFree(t *testing.T) {
	for _, bits := range []uint32{0, 1, math.MaxInt32, math.MaxUint32, 1 << 31} {
		c := NewCache(Options{NewID: func() uint32 { return bits }})
		seen := map[int32]bool{}
		for range 5 {
			f, _ := c.Open(request(0, 0, 1), image{}, 0)
			if id := c.Finish(f, 0); id <= 0 || seen[id] {
				t.Errorf("random bits %#x: id %d, want a positive one that is not in use", bits, id)
			} else {
				seen[id] = true
			}
		}
	}
}

// model is Kafka's rules of what is told, as plainly as possible.
type model struct {
	order []int32
	told  map[int32][2]kafka.Offset
}

// Random sessions against the model: the same order, the same news, the same partitions.
func TestSessionAgreesWithModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	c := NewCache(Options{NewID: func() uint32 { return 7 }})
	f, _ := c.Open(request(0, 0, 0), image{}, 0)
	m := model{order: []int32{0}, told: map[int32][2]kafka.Offset{}}
	for epoch := int32(1); epoch < 3000; epoch++ {
		var moved, kept []int32
		i := 0
		for p := range f.All() {
			if p.Partition != m.order[i] {
				t.Fatalf("epoch %d, place %d: partition %d, want %d of %v", epoch, i, p.Partition, m.order[i], m.order)
			}
			i++
			r := Result{HighWatermark: kafka.Offset(rnd.IntN(2)), LogStart: kafka.Offset(rnd.IntN(2)), RecordBytes: rnd.IntN(3) / 2 * 100}
			if rnd.IntN(5) == 0 {
				r.Code = kafka.NotLeaderOrFollower
			}
			told, ok := m.told[p.Partition]
			want := !ok || !f.Incremental() || r.RecordBytes > 0 || r.Code != 0 || told != [2]kafka.Offset{r.HighWatermark, r.LogStart}
			if got := f.Include(p, r); got != want {
				t.Fatalf("epoch %d, partition %d: news %v, want %v", epoch, p.Partition, got, want)
			}
			m.told[p.Partition] = [2]kafka.Offset{r.HighWatermark, r.LogStart}
			if r.Code != 0 {
				delete(m.told, p.Partition)
			}
			if f.Incremental() && r.RecordBytes > 0 {
				moved = append(moved, p.Partition)
			} else {
				kept = append(kept, p.Partition)
			}
		}
		if i != len(m.order) || f.Len() != i {
			t.Fatalf("epoch %d: %d partitions of %d, want %d", epoch, i, f.Len(), len(m.order))
		}
		m.order = append(kept, moved...)
		id := c.Finish(f, 0)

		req := request(id, epoch)
		for range rnd.IntN(3) {
			req = request(id, epoch, rnd.Int32N(20))
		}
		forget := kmsg.NewFetchRequestForgottenTopic()
		forget.Topic = "a"
		if len(m.order) > 1 && rnd.IntN(2) == 0 {
			forget.Partitions = append(forget.Partitions, m.order[0])
		}
		req.ForgottenTopics = append(req.ForgottenTopics, forget)
		m.update(req)
		var code kafka.ErrorCode
		if f, code = c.Open(req, image{}, 0); code != kafka.None {
			t.Fatalf("epoch %d: %v", epoch, code)
		}
	}
}

func (m *model) update(req *kmsg.FetchRequest) {
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			known := false
			for _, o := range m.order {
				known = known || o == p.Partition
			}
			if !known {
				m.order = append(m.order, p.Partition)
			}
		}
	}
	for _, p := range req.ForgottenTopics[0].Partitions {
		delete(m.told, p)
		var rest []int32
		for _, o := range m.order {
			if o != p {
				rest = append(rest, o)
			}
		}
		m.order = rest
	}
}

// An incremental fetch without changes over many partitions allocates nothing per partition.
func BenchmarkIncrementalFetch(b *testing.B) {
	const n = 10_000
	c := NewCache(Options{NewID: func() uint32 { return 7 }})
	f, _ := c.Open(request(0, 0, numbers(n)...), image{}, 0)
	id := c.Finish(f, 0)
	epoch := int32(0)
	b.ReportAllocs()
	for b.Loop() {
		epoch++
		f, _ := c.Open(request(id, epoch), image{}, 0)
		for p := range f.All() {
			f.Include(p, Result{HighWatermark: 1})
		}
		c.Finish(f, 0)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/partition")
}

// The partitions of all sessions together are bounded: a new session gets no place, one that grows ends with what is attached to it.
func TestPartitionsAreBounded(t *testing.T) {
	ids := uint32(0)
	c := NewCache(Options{NewID: func() uint32 { ids++; return ids }, MaxPartitions: 10})
	open := func(req *kmsg.FetchRequest) int32 {
		f, code := c.Open(req, image{}, 0)
		if code != kafka.None {
			t.Fatal(code)
		}
		return c.Finish(f, 0)
	}
	a, b := open(request(0, 0, numbers(6)...)), open(request(0, 0, numbers(4)...))
	if a == 0 || b == 0 || open(request(0, 0, 1)) != 0 {
		t.Fatalf("sessions %d and %d, and no place for a third was wanted", a, b)
	}
	f, _ := c.Open(request(b, 1), image{}, 0)
	f.Attach("watch")
	c.Finish(f, 0)
	if _, code := c.Open(request(b, 2, 17), image{}, 0); code != kafka.FetchSessionIDNotFound {
		t.Errorf("a partition too many: %v", code)
	}
	if d := c.Detached(); len(d) != 1 || d[0] != "watch" || c.Stats() != (Stats{Sessions: 1, Partitions: 6}) {
		t.Errorf("detached %v, %+v", d, c.Stats())
	}
	if open(request(a, 1, 6, 7, 8, 9)) != a {
		t.Error("a session that grows within the bound has ended")
	}
}
