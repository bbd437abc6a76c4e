package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// commitLimit bounds one commit, so that a member notices soon that it was expelled.
const commitLimit = 10 * time.Second

// GroupOptions describe a consumer group.
type GroupOptions struct {
	Bootstrap []string
	Topic     string
	Group     string
	Members   int
	Client    []kgo.Opt // more options of every client: TLS, SASL, session timeout
}

// Group is a running consumer group.
type Group struct {
	Ledger *GroupLedger

	options GroupOptions
	clients []*kgo.Client
	stop    context.CancelFunc
	members sync.WaitGroup
}

// StartGroup starts the members; Finish or Close ends them.
func StartGroup(o GroupOptions) (*Group, error) {
	g := &Group{Ledger: NewGroupLedger(), options: o}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = cancel
	for i := range o.Members {
		options := append(ClientOptions(o.Bootstrap), kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(o.Topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.FetchMaxWait(250*time.Millisecond),
			kgo.BlockRebalanceOnPoll(), // a partition moves between two rounds of poll and commit only
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
				for _, p := range assigned[o.Topic] {
					g.Ledger.assigned(i, p)
				}
			}))
		cl, err := kgo.NewClient(append(options, o.Client...)...)
		if err != nil {
			g.Close()
			return nil, err
		}
		g.clients = append(g.clients, cl)
		g.members.Go(func() { g.consume(ctx, i, cl) })
	}
	return g, nil
}

// consume polls, tells the ledger, commits, and lets others have the partitions; a commit that was refused is not told.
func (g *Group) consume(ctx context.Context, member int, cl *kgo.Client) {
	for ctx.Err() == nil {
		fetches := cl.PollRecords(ctx, 10_000)
		next := map[int32]int64{}
		var last []*kgo.Record
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, r := range p.Records {
				g.Ledger.saw(member, r.Partition, r.Offset)
			}
			if n := len(p.Records); n > 0 {
				next[p.Partition] = p.Records[n-1].Offset + 1
				last = append(last, p.Records[n-1])
			}
		})
		if len(last) > 0 {
			limited, cancel := context.WithTimeout(ctx, commitLimit)
			if err := cl.CommitRecords(limited, last...); err == nil {
				for p, offset := range next {
					g.Ledger.committed(p, offset)
				}
			}
			cancel()
		}
		cl.AllowRebalance()
	}
}

// Finish waits until the group was shown everything that the topic holds, and ends it.
func (g *Group) Finish(ctx context.Context) error {
	defer g.Close()
	if len(g.clients) == 0 {
		return errors.New("finish a group: it has no members")
	}
	ends, err := endsOf(ctx, g.clients[0], g.options.Topic)
	if err != nil {
		return err
	}
	for p, end := range ends {
		if err := await(ctx, func() error {
			if shown := g.Ledger.Shown(p); shown < end {
				return fmt.Errorf("group %s was shown %d of %d records of partition %d", g.options.Group, shown, end, p)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Close ends all members; they leave the group.
func (g *Group) Close() {
	g.stop()
	g.members.Wait()
	for _, cl := range g.clients {
		cl.CloseAllowingRebalance()
	}
	g.clients = nil
}
