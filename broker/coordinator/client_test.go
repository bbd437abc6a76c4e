package coordinator

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// consumer is one client of a group that notes what it is assigned.
type consumer struct {
	client *kgo.Client
	mu     sync.Mutex
	has    map[int32]bool
}

func (c *consumer) partitions() []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ps []int32
	for p := range c.has {
		ps = append(ps, p)
	}
	return ps
}

func startConsumer(t *testing.T, b *clientBroker, opts ...kgo.Opt) *consumer {
	c := &consumer{has: map[int32]bool{}}
	set := func(m map[string][]int32, to bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range m["t"] {
			delete(c.has, p)
			if to {
				c.has[p] = true
			}
		}
	}
	lose := func(_ context.Context, _ *kgo.Client, m map[string][]int32) { set(m, false) }
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.listener.Addr().String()), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ClientID("client"),
		kgo.HeartbeatInterval(50 * time.Millisecond), kgo.SessionTimeout(6 * time.Second), kgo.RebalanceTimeout(5 * time.Second),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { set(m, true) }),
		kgo.OnPartitionsRevoked(lose), kgo.OnPartitionsLost(lose), kgo.DisableAutoCommit(), kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	c.client = cl
	t.Cleanup(cl.Close)
	return c
}

// eventually polls a condition of clients that run by themselves, on the wall clock: they own sockets.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	limit := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-poll.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// shared tells whether every partition has exactly one owner and every consumer has one at least.
func shared(partitions int, cs ...*consumer) bool {
	seen := map[int32]int{}
	for _, c := range cs {
		ps := c.partitions()
		if len(ps) == 0 {
			return false
		}
		for _, p := range ps {
			seen[p]++
		}
	}
	for _, n := range seen {
		if n != 1 {
			return false
		}
	}
	return len(seen) == partitions
}

// The group of a real client: franz-go's, with the cooperative and the eager protocol, dynamic and static members; and
// its admin client.
func TestFranzGoConsumerGroup(t *testing.T) {
	var ids atomic.Uint32
	config := DefaultConfig()
	config.Group.InitialRebalanceDelay = 50 * time.Millisecond
	topics := &fakeTopics{ids: map[string]kafka.TopicID{"t": clientTopicID}, partitions: 3}
	g := NewGroups(Options{
		Clock: bubbleClock{time.Now()}, Topics: topics, Log: logr.Discard(), Config: config,
		NewID: func() kafka.UUID { n := ids.Add(1); return kafka.UUID{14: byte(n >> 8), 15: byte(n)} },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		g.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
	logs := make([]*memLog, 3)
	for p := range logs {
		logs[p] = &memLog{}
		g.Elected(int32(p), 0, logs[p])
	}
	b := startClientBroker(t, g, 6)
	home := PartitionFor("g", 3)

	one, two := startConsumer(t, b), startConsumer(t, b)
	eventually(t, "two members share", func() bool { return shared(6, one, two) })
	three := startConsumer(t, b, kgo.InstanceID("static"))
	eventually(t, "three members share", func() bool { return shared(6, one, two, three) })

	// A commit of a member, read back by the admin client.
	commit := map[string]map[int32]kgo.EpochOffset{"t": {}}
	for _, p := range one.partitions() {
		commit["t"][p] = kgo.EpochOffset{Epoch: 1, Offset: int64(100 + p)}
	}
	one.client.CommitOffsetsSync(ctx, commit, nil)
	admClient, err := kgo.NewClient(kgo.SeedBrokers(b.listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admClient.Close)
	adm := kadm.NewClient(admClient)
	offsets, err := adm.FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	for p, o := range commit["t"] {
		got, ok := offsets.Lookup("t", p)
		want(t, fmt.Sprint("offset of partition ", p), fmt.Sprint(ok, got.At, got.LeaderEpoch), fmt.Sprint(true, o.Offset, o.Epoch))
	}
	described, err := adm.DescribeGroups(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "members", len(described["g"].Members), 3)
	want(t, "state", described["g"].State, "Stable")

	// The static member restarts: nobody rebalances.
	_, generation := one.client.GroupMetadata()
	three.client.Close()
	three = startConsumer(t, b, kgo.InstanceID("static"))
	eventually(t, "the static member is back", func() bool { return shared(6, one, two, three) })
	_, now := one.client.GroupMetadata()
	want(t, "generation", now, generation)
	want(t, "partitions of another member", fmt.Sprint(len(one.partitions())), fmt.Sprint(len(commit["t"])))

	// The coordinator moves: members stay, commits are there.
	logs[home].depose(1)
	g.Elected(home, 1, logs[home])
	eventually(t, "the members are found again", func() bool {
		one.client.CommitOffsetsSync(ctx, commit, nil)
		d, err := adm.DescribeGroups(ctx, "g")
		return err == nil && d["g"].State == "Stable" && len(d["g"].Members) == 3 && shared(6, one, two, three)
	})

	// Members leave; the group is empty, an administrator takes over.
	one.client.Close()
	eventually(t, "the others take over", func() bool { return shared(6, two, three) })
	two.client.Close()
	if _, err := adm.LeaveGroup(ctx, kadm.LeaveGroup("g").InstanceIDs("static").Reason("test")); err != nil {
		t.Fatal(err)
	}
	three.client.Close()
	eventually(t, "the group is empty", func() bool {
		d, err := adm.DescribeGroups(ctx, "g")
		return err == nil && d["g"].State == "Empty"
	})
	var reset kadm.Offsets
	reset.AddOffset("t", 0, 7, -1)
	if err := adm.CommitAllOffsets(ctx, "g", reset); err != nil {
		t.Fatal(err)
	}
	if resp, err := adm.DeleteOffsets(ctx, "g", kadm.TopicsSet{"t": {0: {}}}); err != nil || resp.Error() != nil {
		t.Fatal(err, resp.Error())
	}
	if resp, err := adm.DeleteGroup(ctx, "g"); err != nil || resp.Err != nil {
		t.Fatal(err, resp.Err)
	}
	listed, err := adm.ListGroups(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "groups", len(listed), 0)
}
