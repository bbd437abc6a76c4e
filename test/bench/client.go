package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// benchPartitions is the number of partitions of every topic under load.
const benchPartitions = 12

// acks is a required number of acknowledgements.
type acks struct {
	name string
	opts []kgo.Opt
}

var (
	acksOne = acks{"acks=1", []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(5)}}
	acksAll = acks{"acks=all", nil} // idempotent, the client's default
)

func (b *bench) producer(a acks, linger time.Duration) (*kgo.Client, error) {
	opts := []kgo.Opt{kgo.SeedBrokers(b.cluster.Bootstrap...), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(64 << 10),
		kgo.ProducerLinger(linger), kgo.MaxBufferedRecords(200_000), kgo.RecordPartitioner(kgo.UniformBytesPartitioner(64<<10, true, true, nil))}
	return kgo.NewClient(append(opts, a.opts...)...)
}

// value is a record of n bytes of which half repeat.
func value(n int, seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 0))
	v := make([]byte, n)
	for i := range n / 2 {
		v[i] = byte(rnd.Uint32())
	}
	return v
}

// measureProduce sends bytes of records of one size by the franz-go producer, after a quarter of it for warming up. The
// topic stays; drop deletes it.
func (b *bench) measureProduce(ctx context.Context, a acks, replicas int16, size int, bytes int64) (topic string, drop func(), err error) {
	topic, drop, err = b.topic(ctx, benchPartitions, replicas)
	if err != nil {
		return topic, drop, err
	}
	cl, err := b.producer(a, 5*time.Millisecond)
	if err != nil {
		return topic, drop, err
	}
	defer cl.Close()
	if _, err := produce(ctx, cl, topic, size, bytes/4); err != nil {
		return topic, drop, err
	}
	name := fmt.Sprintf("produce %s, RF %d, %s", sizeName(size), replicas, a.name)
	return topic, drop, b.costed(name, func() (int64, error) { return produce(ctx, cl, topic, size, bytes) })
}

func sizeName(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%d KB", n/1000)
	}
	return fmt.Sprintf("%d B", n)
}

// produce sends records until their values amount to bytes, and waits for all acknowledgements.
func produce(ctx context.Context, cl *kgo.Client, topic string, size int, bytes int64) (int64, error) {
	var wait sync.WaitGroup
	var failed atomic.Pointer[error]
	v := value(size, 1)
	var sent int64
	for ; sent < bytes && failed.Load() == nil && ctx.Err() == nil; sent += int64(size) {
		wait.Add(1)
		cl.Produce(ctx, &kgo.Record{Topic: topic, Value: v}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			wait.Done()
		})
	}
	wait.Wait()
	if err := failed.Load(); err != nil {
		return sent, *err
	}
	return sent, ctx.Err()
}

// measureFetch reads the whole topic by the franz-go consumer.
func (b *bench) measureFetch(ctx context.Context, topic string) error {
	ends, err := b.adm.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	var records int64
	for _, end := range ends[topic] {
		records += end.Offset
	}
	return b.costed("fetch, RF 1", func() (int64, error) {
		cl, err := kgo.NewClient(kgo.SeedBrokers(b.cluster.Bootstrap...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			return 0, err
		}
		defer cl.Close()
		var bytes int64
		for left := records; left > 0; {
			fetches := cl.PollFetches(ctx)
			if err := fetches.Err0(); err != nil {
				return bytes, err
			}
			fetches.EachRecord(func(r *kgo.Record) { bytes += int64(len(r.Value)); left-- })
		}
		return bytes, nil
	})
}

// measureLatency sends records of 1 KB at a steady rate and notes how long each took, from the moment at which it was due.
func (b *bench) measureLatency(ctx context.Context, mbPerSecond, seconds int) error {
	topic, drop, err := b.topic(ctx, benchPartitions, 3)
	if err != nil {
		return err
	}
	defer drop()
	cl, err := b.producer(acksAll, time.Millisecond)
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := paced(ctx, cl, topic, mbPerSecond, 2); err != nil { // warm-up
		return err
	}
	name := fmt.Sprintf("latency at %d MB/s, RF 3, acks=all", mbPerSecond)
	before, err := b.cpu()
	if err != nil {
		return err
	}
	took, err := paced(ctx, cl, topic, mbPerSecond, seconds)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, err := b.cpu()
	if err != nil {
		return err
	}
	slices.Sort(took)
	for _, q := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}} {
		b.note(name+", "+q.name, latency, float64(took[int(q.part*float64(len(took)-1))])/1e6)
	}
	b.note(name+", broker CPU", cost, (after-before)/(float64(len(took))*1000/1e9))
	return nil
}

// paced sends records of 1 KB for some seconds, a thousandth of a second's share each millisecond.
func paced(ctx context.Context, cl *kgo.Client, topic string, mbPerSecond, seconds int) ([]time.Duration, error) {
	const size = 1000
	var mu sync.Mutex
	var wait sync.WaitGroup
	var failed error
	took := make([]time.Duration, 0, mbPerSecond*1000*seconds)
	v := value(size, 2)
	begin := time.Now()
	for ms := range 1000 * seconds {
		due := begin.Add(time.Duration(ms) * time.Millisecond)
		time.Sleep(time.Until(due))
		wait.Add(mbPerSecond)
		for range mbPerSecond {
			cl.Produce(ctx, &kgo.Record{Topic: topic, Value: v}, func(_ *kgo.Record, err error) {
				now := time.Now()
				mu.Lock()
				took = append(took, now.Sub(due))
				if err != nil {
					failed = err
				}
				mu.Unlock()
				wait.Done()
			})
		}
	}
	wait.Wait()
	return took, failed
}
