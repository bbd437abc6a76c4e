package crash

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// pace is the time between two records of one partition.
const pace = 5 * time.Millisecond

// clientOptions let a client notice a new leader soon: what is measured is then the cluster.
var clientOptions = []kgo.Opt{
	kgo.MetadataMinAge(50 * time.Millisecond),
	kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	kgo.DialTimeout(2 * time.Second),
}

// load is a producer and a reader of one topic.
type load struct {
	ledger     *ledger
	topic      string
	partitions int32
	seeds      []string
	producer   *kgo.Client
	stopping   context.CancelFunc
	produced   chan struct{}
	reader     *kgo.Client
	read       chan struct{}
	stopRead   context.CancelFunc
}

func startLoad(seeds []string, topic string, partitions int32) (*load, error) {
	l := &load{ledger: newLedger(partitions), topic: topic, partitions: partitions, seeds: seeds, produced: make(chan struct{}), read: make(chan struct{})}
	var err error
	// Idempotent with acks=all is the client's default. A client that meets lost data must say so.
	l.producer, err = kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(seeds...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.MaxBufferedRecords(20_000), kgo.StopProducerOnDataLossDetected(), kgo.ProduceRequestTimeout(10 * time.Second)}, clientOptions...)...)
	if err != nil {
		return nil, err
	}
	if l.reader, err = kgo.NewClient(append(fromStart(seeds, topic, partitions), clientOptions...)...); err != nil {
		l.producer.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.stopping = cancel
	go l.produce(ctx)
	ctx, cancel = context.WithCancel(context.Background())
	l.stopRead = cancel
	go l.consume(ctx)
	return l, nil
}

func (l *load) produce(ctx context.Context) {
	defer close(l.produced)
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		for p := range l.partitions {
			sequence := l.ledger.send(p)
			value := binary.BigEndian.AppendUint64(nil, uint64(sequence))
			l.producer.Produce(context.Background(), &kgo.Record{Topic: l.topic, Partition: p, Value: value}, func(r *kgo.Record, err error) {
				if err != nil {
					l.ledger.fail(p, sequence, err)
					return
				}
				l.ledger.ack(p, sequence, r.Offset, time.Now())
			})
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (l *load) consume(ctx context.Context) {
	defer close(l.read)
	for ctx.Err() == nil {
		fetches := l.reader.PollFetches(ctx)
		fetches.EachError(func(_ string, p int32, err error) {
			if lost := (*kgo.ErrDataLoss)(nil); errors.As(err, &lost) || errors.Is(err, kerr.OffsetOutOfRange) {
				l.ledger.refused(p, err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) { l.ledger.saw(r.Partition, r.Offset, int64(binary.BigEndian.Uint64(r.Value))) })
	}
}

// fromStart are the options of a client that reads a topic from its beginning and never moves its position.
func fromStart(seeds []string, topic string, partitions int32) []kgo.Opt {
	at := map[int32]kgo.Offset{}
	for p := range partitions {
		at[p] = kgo.NewOffset().At(0)
	}
	return []kgo.Opt{kgo.SeedBrokers(seeds...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(250 * time.Millisecond)}
}

// finish stops sending, waits for every answer, lets the reader catch up, and reads the topic once more.
func (l *load) finish(ctx context.Context) ([][]entry, error) {
	l.stopping()
	<-l.produced
	defer l.producer.Close()
	defer l.reader.Close()
	defer func() { l.stopRead(); <-l.read }()
	if err := l.producer.Flush(ctx); err != nil {
		return nil, fmt.Errorf("%d records were neither acknowledged nor refused: %w", l.producer.BufferedProduceRecords(), err)
	}
	ends, err := kadm.NewClient(l.producer).ListEndOffsets(ctx, l.topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the ends of %s: %w", l.topic, err)
	}
	for p := range l.partitions {
		if err := l.awaitReader(ctx, p, ends[l.topic][p].Offset); err != nil {
			return nil, err
		}
	}
	return l.readAll(ctx, ends[l.topic])
}

func (l *load) awaitReader(ctx context.Context, p int32, end int64) error {
	for {
		l.ledger.mu.Lock()
		next := l.ledger.lanes[p].next
		l.ledger.mu.Unlock()
		if next >= end {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the reader is at %d of %d in partition %d", next, end, p)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (l *load) readAll(ctx context.Context, ends map[int32]kadm.ListedOffset) ([][]entry, error) {
	cl, err := kgo.NewClient(fromStart(l.seeds, l.topic, l.partitions)...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	log := make([][]entry, l.partitions)
	left := 0
	for p := range l.partitions {
		if ends[p].Offset > 0 {
			left++
		}
	}
	for left > 0 {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read %s once more: %d partitions are not at their end", l.topic, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < ends[r.Partition].Offset {
				log[r.Partition] = append(log[r.Partition], entry{r.Offset, int64(binary.BigEndian.Uint64(r.Value))})
			}
			if r.Offset == ends[r.Partition].Offset-1 {
				left--
			}
		})
	}
	return log, nil
}
