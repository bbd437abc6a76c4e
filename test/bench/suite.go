package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/test/control"
	"github.com/twmb/franz-go/pkg/kgo"
)

// idle is how long a cluster is left alone before its memory is read.
const idle = 3 * time.Second

func singleBroker(ctx context.Context, p plan, b *bench) error {
	time.Sleep(idle)
	if err := b.noteRSS("RSS of a broker of one, idle"); err != nil {
		return err
	}
	if p.wants("start") {
		if err := b.measureStart(ctx, p.startRounds); err != nil {
			return err
		}
	}
	if p.wants("raw") {
		if err := b.measureRaw(ctx, p.produceBytes); err != nil {
			return err
		}
	}
	for _, cell := range []struct {
		acks  acks
		size  int
		bytes int64
	}{{acksOne, 100, p.smallBytes}, {acksAll, 1000, p.produceBytes}, {acksOne, 1000, p.produceBytes}} {
		if !p.wants("produce") && !p.wants("fetch") {
			break
		}
		topic, drop, err := b.measureProduce(ctx, cell.acks, 1, cell.size, cell.bytes)
		if err == nil && cell.size == 1000 && cell.acks.name == acksOne.name {
			err = b.measureFetch(ctx, topic)
		}
		drop()
		if err != nil {
			return err
		}
	}
	return b.noteRSS("RSS of a broker of one, after load")
}

func threeBrokers(ctx context.Context, p plan, b *bench) error {
	b.note("start of three brokers, formatting included", duration, b.cluster.UpTook.Seconds())
	time.Sleep(idle)
	if err := b.noteRSS("RSS of a broker of three, idle"); err != nil {
		return err
	}
	for _, cell := range []struct {
		acks  acks
		size  int
		bytes int64
	}{{acksOne, 1000, p.produceBytes / 2}, {acksAll, 1000, p.produceBytes / 2}, {acksAll, 100, p.smallBytes / 2}} {
		if !p.wants("produce") {
			break
		}
		_, drop, err := b.measureProduce(ctx, cell.acks, 3, cell.size, cell.bytes)
		drop()
		if err != nil {
			return err
		}
	}
	for _, rate := range []int{5, 20} {
		if p.wants("latency") {
			if err := b.measureLatency(ctx, rate, p.latencySecs); err != nil {
				return err
			}
		}
	}
	if err := b.noteRSS("RSS of a broker of three, after load"); err != nil {
		return err
	}
	if p.wants("kill") {
		if err := b.measureKills(ctx); err != nil {
			return err
		}
	}
	if p.wants("partitions") {
		return b.measurePartitions(ctx, p.partitions)
	}
	return nil
}

// measureRaw is produce and fetch at the broker's limit.
func (b *bench) measureRaw(ctx context.Context, bytes int64) error {
	topic, drop, err := b.topic(ctx, benchPartitions, 1)
	defer drop()
	if err != nil {
		return err
	}
	addr := b.cluster.Bootstrap[0]
	if _, err := rawProduce(ctx, addr, topic, 1, bytes/4); err != nil {
		return err
	}
	if err := b.costed("raw produce 1 KB, RF 1, acks=1", func() (int64, error) { return rawProduce(ctx, addr, topic, 1, bytes) }); err != nil {
		return err
	}
	listed, err := b.adm.ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return err
	}
	ends := map[int32]int64{}
	for p, o := range listed[topic] {
		ends[p] = o.Offset
	}
	return b.costed("raw fetch, RF 1", func() (int64, error) { return rawFetch(ctx, addr, topic, ends) })
}

// measureStart stops the broker and notes the time from its start to the first acknowledgement.
func (b *bench) measureStart(ctx context.Context, rounds int) error {
	topic, drop, err := b.topic(ctx, 1, 1)
	defer drop()
	if err != nil {
		return err
	}
	request := produceRequest(topic, 0, 1, batch())
	attempt := func() error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		c, err := dialRaw(ctx, b.cluster.Bootstrap[0])
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
		if _, err := c.Write(request); err != nil {
			return err
		}
		return produceReply(c)
	}
	var took []time.Duration
	for range rounds {
		if err := b.cluster.Stop(0); err != nil {
			return err
		}
		begin := time.Now()
		started := make(chan error, 1)
		go func() { started <- b.cluster.Start(0) }()
		for attempt() != nil {
			if time.Since(begin) > time.Minute {
				return fmt.Errorf("no acknowledgement within a minute of the start: %w", attempt())
			}
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(begin))
		if err := <-started; err != nil {
			return err
		}
	}
	slices.Sort(took)
	b.note("start of a formatted broker to first ack, median", duration, took[len(took)/2].Seconds())
	return nil
}

// measurePartitions creates many partitions and notes time and memory.
func (b *bench) measurePartitions(ctx context.Context, n int) error {
	const perTopic = 100
	begin := time.Now()
	for i := range n / perTopic {
		name := "many-" + strconv.Itoa(i)
		if err := control.CreateTopic(ctx, b.adm, name, perTopic, 3, nil); err != nil {
			return err
		}
	}
	b.note(fmt.Sprintf("%d partitions of RF 3 until all answer", n), duration, time.Since(begin).Seconds())
	time.Sleep(idle)
	return b.noteRSS(fmt.Sprintf("RSS of a broker with %d partitions", n))
}

// measureKills kills each broker once under a light load and notes how long partitions went without acknowledgements.
func (b *bench) measureKills(ctx context.Context) error {
	topic, drop, err := b.topic(ctx, benchPartitions, 3)
	defer drop()
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.cluster.Bootstrap...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.MetadataMinAge(50*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
	if err != nil {
		return err
	}
	defer cl.Close()
	g := newGaps(benchPartitions)
	loadCtx, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Add(1)
	go func() { defer wait.Done(); g.drive(loadCtx, cl, topic) }()
	defer wait.Wait()
	defer stop()
	var longest time.Duration
	var all []time.Duration
	for id := range b.cluster.Bootstrap {
		if err := b.awaitInSync(ctx, topic); err != nil {
			return err
		}
		led, err := b.led(ctx, topic, int32(id))
		if err != nil {
			return err
		}
		killed := time.Now()
		if err := b.cluster.Kill(id); err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(ctx, time.Minute)
		err = control.Await(limit, func(context.Context) error { return g.allSince(killed, 20) })
		cancel()
		if err != nil {
			return err
		}
		for _, p := range led {
			gap := g.longestSince(p, killed)
			all = append(all, gap)
			longest = max(longest, gap)
		}
		if err := b.cluster.Start(id); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no killed broker led a partition")
	}
	slices.Sort(all)
	b.note("without acks after kill -9, longest", duration, longest.Seconds())
	b.note("without acks after kill -9, median partition", duration, all[len(all)/2].Seconds())
	return nil
}

func (b *bench) led(ctx context.Context, topic string, id int32) ([]int32, error) {
	m, err := b.adm.Metadata(ctx, topic)
	var led []int32
	for _, p := range m.Topics[topic].Partitions.Sorted() {
		if p.Leader == id {
			led = append(led, p.Partition)
		}
	}
	return led, err
}

func (b *bench) awaitInSync(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return control.Await(ctx, func(ctx context.Context) error {
		m, err := b.adm.Metadata(ctx, topic)
		for _, p := range m.Topics[topic].Partitions {
			if err == nil && len(p.ISR) != len(b.cluster.Bootstrap) {
				err = fmt.Errorf("partition %d: in-sync set %v", p.Partition, p.ISR)
			}
		}
		return err
	})
}
