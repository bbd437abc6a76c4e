package workload

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

// DefaultPace is the time between two records of one partition.
const DefaultPace = 5 * time.Millisecond

// ClientOptions let a client notice a new leader soon: what is measured is then the cluster.
func ClientOptions(bootstrap []string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(bootstrap...),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
		kgo.DialTimeout(2 * time.Second),
	}
}

// LoadOptions say what is written, and how.
type LoadOptions struct {
	Bootstrap  []string
	Topic      string // exists and is empty
	Partitions int32
	Pace       time.Duration // between two records of one partition; 0 is DefaultPace
	Client     []kgo.Opt     // more options of every client: TLS, SASL
}

// Load is a producer and a reader of one topic.
type Load struct {
	Ledger *Ledger

	options  LoadOptions
	producer *kgo.Client
	stopping context.CancelFunc
	produced chan struct{}
	reader   *kgo.Client
	read     chan struct{}
	stopRead context.CancelFunc
}

// StartLoad starts both; Finish ends them.
func StartLoad(o LoadOptions) (*Load, error) {
	if o.Pace == 0 {
		o.Pace = DefaultPace
	}
	l := &Load{Ledger: NewLedger(o.Partitions), options: o, produced: make(chan struct{}), read: make(chan struct{})}
	var err error
	// Idempotent with acks=all is the client's default. A client that meets lost data must say so.
	l.producer, err = kgo.NewClient(l.with(ClientOptions(o.Bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.MaxBufferedRecords(20_000), kgo.StopProducerOnDataLossDetected(), kgo.ProduceRequestTimeout(10*time.Second))...)
	if err != nil {
		return nil, err
	}
	if l.reader, err = kgo.NewClient(l.with(ClientOptions(o.Bootstrap), fromStart(o)...)...); err != nil {
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

// Topic is the topic that is written.
func (l *Load) Topic() string { return l.options.Topic }

func (l *Load) with(options []kgo.Opt, more ...kgo.Opt) []kgo.Opt {
	return append(append(options, more...), l.options.Client...)
}

func (l *Load) produce(ctx context.Context) {
	defer close(l.produced)
	tick := time.NewTicker(l.options.Pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		for p := range l.options.Partitions {
			sequence := l.Ledger.send(p)
			value := binary.BigEndian.AppendUint64(nil, uint64(sequence))
			l.producer.Produce(context.Background(), &kgo.Record{Topic: l.options.Topic, Partition: p, Value: value}, func(r *kgo.Record, err error) {
				if err != nil {
					l.Ledger.fail(p, sequence, err)
					return
				}
				l.Ledger.ack(p, sequence, r.Offset, time.Now())
			})
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (l *Load) consume(ctx context.Context) {
	defer close(l.read)
	for ctx.Err() == nil {
		fetches := l.reader.PollFetches(ctx)
		fetches.EachError(func(_ string, p int32, err error) {
			if lost := (*kgo.ErrDataLoss)(nil); errors.As(err, &lost) || errors.Is(err, kerr.OffsetOutOfRange) {
				l.Ledger.refused(p, err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) { l.Ledger.saw(r.Partition, r.Offset, sequenceOf(r)) })
	}
}

func sequenceOf(r *kgo.Record) int64 { return int64(binary.BigEndian.Uint64(r.Value)) }

// fromStart are the options of a client that reads a topic from its beginning and never moves its position.
func fromStart(o LoadOptions) []kgo.Opt {
	at := map[int32]kgo.Offset{}
	for p := range o.Partitions {
		at[p] = kgo.NewOffset().At(0)
	}
	return []kgo.Opt{kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o.Topic: at}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(250 * time.Millisecond)}
}

// Finish stops sending, waits for every answer, lets the reader catch up, and reads the topic once more. What it gives is
// for Ledger.Check.
func (l *Load) Finish(ctx context.Context) ([][]Entry, error) {
	l.stopping()
	<-l.produced
	defer l.producer.Close()
	defer l.reader.Close()
	defer func() { l.stopRead(); <-l.read }()
	if err := l.producer.Flush(ctx); err != nil {
		return nil, fmt.Errorf("%d records were neither acknowledged nor refused: %w", l.producer.BufferedProduceRecords(), err)
	}
	ends, err := endsOf(ctx, l.producer, l.options.Topic)
	if err != nil {
		return nil, err
	}
	for p := range l.options.Partitions {
		if err := await(ctx, func() error {
			if next := l.Ledger.shown(p); next < ends[p] {
				return fmt.Errorf("the reader is at %d of %d in partition %d", next, ends[p], p)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return l.readAll(ctx, ends)
}

// endsOf are the offsets after the last records, by partition.
func endsOf(ctx context.Context, cl *kgo.Client, topic string) (map[int32]int64, error) {
	listed, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the ends of %s: %w", topic, err)
	}
	ends := map[int32]int64{}
	for p, o := range listed[topic] {
		ends[p] = o.Offset
	}
	return ends, nil
}

// await calls f until it is nil, or until ctx ends, and gives its last error then.
func await(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (l *Load) readAll(ctx context.Context, ends map[int32]int64) ([][]Entry, error) {
	cl, err := kgo.NewClient(l.with([]kgo.Opt{kgo.SeedBrokers(l.options.Bootstrap...)}, fromStart(l.options)...)...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	log := make([][]Entry, l.options.Partitions)
	left := 0
	for p := range l.options.Partitions {
		if ends[p] > 0 {
			left++
		}
	}
	for left > 0 {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read %s once more: %d partitions are not at their end", l.options.Topic, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < ends[r.Partition] {
				log[r.Partition] = append(log[r.Partition], Entry{r.Offset, sequenceOf(r)})
			}
			if r.Offset == ends[r.Partition]-1 {
				left--
			}
		})
	}
	return log, nil
}
