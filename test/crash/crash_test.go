package crash

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/control"
	"github.com/fairlead-io/fairlead/test/workload"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	brokers    = 3
	partitions = 6
	stepLimit  = time.Minute // of each step of a round
)

// cluster starts one for a test, or skips it when there is no command for it.
func cluster(t *testing.T, o control.Options) (*control.Cluster, *kadm.Client) {
	t.Helper()
	command := os.Getenv("CLUSTER")
	if command == "" {
		t.Skip("set CLUSTER to a control command; `make crash` does")
	}
	c, err := control.Up(command, "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.LogTails(20))
		}
		if err := c.Down(); err != nil {
			t.Error(err)
		}
	})
	cl, err := kgo.NewClient(workload.ClientOptions(c.Bootstrap)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return c, kadm.NewClient(cl)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await calls f until it is nil, for at most stepLimit.
func await(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
	defer cancel()
	if err := control.Await(ctx, f); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// topicState describes the topic's partitions, all of them.
func topicState(ctx context.Context, adm *kadm.Client, topic string) (kadm.PartitionDetails, error) {
	m, err := adm.Metadata(ctx, topic)
	if err != nil {
		return nil, err
	}
	ps := m.Topics[topic].Partitions
	if len(ps) != partitions {
		return nil, fmt.Errorf("%d of %d partitions are in the metadata", len(ps), partitions)
	}
	return ps, nil
}

func awaitInSync(t *testing.T, adm *kadm.Client, topic string) {
	t.Helper()
	await(t, "all replicas in sync", func(ctx context.Context) error {
		ps, err := topicState(ctx, adm, topic)
		if err != nil {
			return err
		}
		for _, p := range ps {
			if len(p.ISR) != brokers || p.Leader < 0 {
				return fmt.Errorf("partition %d: leader %d, in-sync set %v", p.Partition, p.Leader, p.ISR)
			}
		}
		return nil
	})
}

// awaitAcks waits until every partition has n acknowledgements more than now.
func awaitAcks(t *testing.T, l *workload.Ledger, what string, n int) {
	t.Helper()
	var before [partitions]int
	for p := range before {
		before[p] = l.Acked(int32(p))
	}
	await(t, what, func(context.Context) error {
		for p := range before {
			if got := l.Acked(int32(p)) - before[p]; got < n {
				return fmt.Errorf("partition %d has %d of %d more acknowledgements", p, got, n)
			}
		}
		return nil
	})
}

func newLoad(t *testing.T, c *control.Cluster, adm *kadm.Client) *workload.Load {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
	defer cancel()
	topic := "crash-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	must(t, control.CreateTopic(ctx, adm, topic, partitions, brokers, map[string]string{"min.insync.replicas": "2"}))
	l, err := workload.StartLoad(workload.LoadOptions{Bootstrap: c.Bootstrap, Topic: topic, Partitions: partitions})
	must(t, err)
	awaitInSync(t, adm, topic)
	awaitAcks(t, l.Ledger, "first acknowledgements", 50)
	return l
}

// verify ends the load and reports every broken promise.
func verify(t *testing.T, l *workload.Load) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
	defer cancel()
	final, err := l.Finish(ctx)
	must(t, err)
	for _, b := range l.Ledger.Check(final) {
		t.Error(b)
	}
	total := 0
	for _, log := range final {
		total += len(log)
	}
	t.Logf("%d records sent, acknowledged, shown and read again", total)
}

// led lists the partitions that a broker leads.
func led(t *testing.T, adm *kadm.Client, topic string, id int) []int32 {
	t.Helper()
	var ps []int32
	await(t, "leaders", func(ctx context.Context) error {
		all, err := topicState(ctx, adm, topic)
		ps = nil
		for _, p := range all.Sorted() {
			if int(p.Leader) == id {
				ps = append(ps, p.Partition)
			}
		}
		return err
	})
	return ps
}

func leader(t *testing.T, adm *kadm.Client, topic string, partition int32) int {
	t.Helper()
	id := -1
	await(t, "a leader", func(ctx context.Context) error {
		ps, err := topicState(ctx, adm, topic)
		if err == nil && ps[partition].Leader < 0 {
			err = fmt.Errorf("partition %d has no leader", partition)
		}
		id = int(ps[partition].Leader)
		return err
	})
	return id
}

// Every leader in turn is killed with -9, again and again, under load.
func TestLeadersKilledInTurn(t *testing.T) {
	kills := 30
	if s := os.Getenv("CRASH_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		must(t, err)
		kills = n
	}
	c, adm := cluster(t, control.Options{Brokers: brokers})
	l := newLoad(t, c, adm)
	var worst []time.Duration
	for k := range kills {
		p := int32(k % partitions)
		victim := leader(t, adm, l.Topic(), p)
		lost := led(t, adm, l.Topic(), victim)
		killed := time.Now()
		must(t, c.Kill(victim))
		awaitAcks(t, l.Ledger, fmt.Sprintf("kill %d: acknowledgements while broker %d is dead", k+1, victim), 50)
		var line string
		var longest time.Duration
		for _, q := range lost {
			gap := l.Ledger.Gap(q, killed, time.Now())
			longest = max(longest, gap)
			line += fmt.Sprintf(" p%d %.3f s", q, gap.Seconds())
		}
		worst = append(worst, longest)
		t.Logf("kill %2d of %d: broker %d, without acknowledgement:%s", k+1, kills, victim, line)
		must(t, c.Start(victim))
		awaitInSync(t, adm, l.Topic())
		awaitAcks(t, l.Ledger, fmt.Sprintf("kill %d: acknowledgements afterwards", k+1), 50)
	}
	verify(t, l)
	slices.Sort(worst)
	median := worst[len(worst)/2]
	t.Logf("longest time without acknowledgement per kill: median %.3f s, least %.3f s, most %.3f s", median.Seconds(), worst[0].Seconds(), worst[len(worst)-1].Seconds())
	if s := os.Getenv("CRASH_MEDIAN"); s != "" {
		limit, err := time.ParseDuration(s)
		must(t, err)
		if median > limit {
			t.Errorf("the median is %v, want at most %v", median, limit)
		}
	}
}

// Every broker in turn is stopped in order, twice, under load: no produce fails.
func TestBrokersStoppedInTurn(t *testing.T) {
	c, adm := cluster(t, control.Options{Brokers: brokers})
	l := newLoad(t, c, adm)
	begin := time.Now()
	for round := range 2 * brokers {
		id := (round + 1) % brokers
		stopping := time.Now()
		must(t, c.Stop(id))
		took := time.Since(stopping)
		awaitAcks(t, l.Ledger, fmt.Sprintf("stop %d: acknowledgements while broker %d is away", round+1, id), 50)
		longest := l.Ledger.LongestGap(stopping, time.Now())
		t.Logf("stop %d: broker %d stopped in %.3f s, longest time without acknowledgement %.3f s", round+1, id, took.Seconds(), longest.Seconds())
		must(t, c.Start(id))
		awaitInSync(t, adm, l.Topic())
	}
	t.Logf("longest time without acknowledgement on any partition: %.3f s", l.Ledger.LongestGap(begin, time.Now()).Seconds())
	verify(t, l)
}
