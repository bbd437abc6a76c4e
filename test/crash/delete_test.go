package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/control"
	"github.com/fairlead-io/fairlead/test/workload"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// deletions is what was promised to somebody who writes to one partition, deletes its records from the front, and makes and
// deletes topics, until the broker is killed.
type deletions struct {
	topic string
	mu    sync.Mutex
	acked map[int64]string // value by offset
	start int64            // answered by DeleteRecords
	asked int64            // asked of DeleteRecords last
	gone  map[string]bool  // topics whose deletion was answered
}

// work goes on until the context ends; its errors are the kill's.
func (d *deletions) work(ctx context.Context, cl *kgo.Client, round int) {
	adm := kadm.NewClient(cl)
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			value := fmt.Sprintf("%d-%d %s", round, n, strings.Repeat("v", 20_000))
			r, err := cl.ProduceSync(ctx, &kgo.Record{Topic: d.topic, Value: []byte(value)}).First()
			if err == nil {
				d.mu.Lock()
				d.acked[r.Offset] = value
				d.mu.Unlock()
			}
		}
	})
	all.Go(func() {
		for ctx.Err() == nil {
			d.mu.Lock()
			d.asked = max(d.asked, d.start) + int64(len(d.acked))/20
			to := kadm.Offsets{}
			to.AddOffset(d.topic, 0, d.asked, -1)
			asked := d.asked
			d.mu.Unlock()
			resp, err := adm.DeleteRecords(ctx, to)
			d.mu.Lock()
			if one, ok := resp.Lookup(d.topic, 0); err == nil && ok && one.Err == nil {
				d.start = max(d.start, asked)
			} else {
				d.asked = d.start // beyond the end, or killed
			}
			d.mu.Unlock()
			time.Sleep(5 * time.Millisecond)
		}
	})
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("gone-%d-%d", round, n)
			if _, err := adm.CreateTopic(ctx, 3, 1, nil, name); err != nil {
				continue
			}
			if resp, err := adm.DeleteTopics(ctx, name); err == nil && resp[name].Err == nil {
				d.mu.Lock()
				d.gone[name] = true
				d.mu.Unlock()
			}
		}
	})
	all.Wait()
}

// check holds the broker against what was promised.
func (d *deletions) check(t *testing.T, cl *kgo.Client, bootstrap []string, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
	defer cancel()
	adm := kadm.NewClient(cl)
	starts, err := adm.ListStartOffsets(ctx, d.topic)
	must(t, err)
	ends, err := adm.ListEndOffsets(ctx, d.topic)
	must(t, err)
	first, _ := starts.Lookup(d.topic, 0)
	end, _ := ends.Lookup(d.topic, 0)
	if first.Offset < d.start {
		t.Errorf("the log starts at %d, though deletion up to %d was answered", first.Offset, d.start)
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{d.topic: {0: kgo.NewOffset().At(first.Offset)}}))
	must(t, err)
	defer reader.Close()
	got := map[int64]string{}
	for next := first.Offset; next < end.Offset; {
		fetches := reader.PollFetches(ctx)
		must(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { got[r.Offset], next = string(r.Value), r.Offset+1 })
	}
	for offset, value := range d.acked {
		if offset >= first.Offset && got[offset] != value {
			t.Errorf("offset %d holds %.20q, want %.20q, which was acknowledged", offset, got[offset], value)
		}
	}
	d.start, d.asked = first.Offset, first.Offset
	topics, err := adm.ListTopics(ctx)
	must(t, err)
	for name := range d.gone {
		if topics.Has(name) {
			t.Errorf("topic %s is back, though its deletion was answered", name)
		}
	}
	await(t, "folders of deleted topics go", func(context.Context) error {
		left, _ := filepath.Glob(filepath.Join(dir, "gone-*"))
		for _, f := range left {
			name := filepath.Base(f)
			if d.gone[name[:strings.LastIndexByte(name, '-')]] && !strings.HasSuffix(name, "-delete") && !strings.HasSuffix(name, "-stray") {
				return fmt.Errorf("%s is still there", f)
			}
		}
		return nil
	})
	t.Logf("log [%d, %d), %d topics gone", first.Offset, end.Offset, len(d.gone))
}

// A broker that is killed with -9 while records, segments and topics are being deleted brings nothing back whose deletion was
// answered, and loses nothing else.
func TestKilledWhileDeleting(t *testing.T) {
	command := os.Getenv("CLUSTER")
	if command == "" {
		t.Skip("set CLUSTER to a control command; `make crash` does")
	}
	c, err := control.Up(command, "", control.Options{Brokers: 1, Settings: map[string]string{"log.retention.check.interval.ms": "20"}})
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.LogTails(20))
		}
		if err := c.Down(); err != nil {
			t.Error(err)
		}
	})
	dir, err := c.DataDir(0)
	must(t, err)
	d := &deletions{topic: "kept", acked: map[int64]string{}, gone: map[string]bool{}}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	const rounds = 8
	for round := range rounds + 1 {
		cl, err := kgo.NewClient(workload.ClientOptions(c.Bootstrap)...)
		must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		if round == 0 {
			must(t, control.CreateTopic(ctx, kadm.NewClient(cl), d.topic, 1, 1, map[string]string{"segment.bytes": "1048576", "file.delete.delay.ms": "0"}))
		} else {
			d.check(t, cl, c.Bootstrap, dir)
		}
		if round == rounds {
			cancel()
			cl.Close()
			break
		}
		var work sync.WaitGroup
		work.Go(func() { d.work(ctx, cl, round) })
		time.Sleep(time.Duration(100+rnd.IntN(500)) * time.Millisecond) // how far it gets before the kill
		must(t, c.Kill(0))
		cancel()
		cl.Close() // ends a produce that waits for its answer
		work.Wait()
		must(t, c.Start(0))
	}
}
