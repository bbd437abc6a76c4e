package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/control"
	"github.com/fairlead-io/fairlead/test/workload"
	"github.com/twmb/franz-go/pkg/kadm"
)

const (
	moveBrokers = 4 // one more than there are replicas
	moveRounds  = 8
)

// moves is where the partitions of a topic shall be; a partition whose last word was a cancel is where it was.
type moves struct {
	topic string
	rnd   *rand.Rand
	to    [partitions][]int32
}

// order asks for something else for every partition: another target, which replaces the one before, or an end to the move.
func (m *moves) order(ctx context.Context, adm *kadm.Client) error {
	var req kadm.AlterPartitionAssignmentsReq
	for p := range int32(partitions) {
		if m.to[p] = nil; m.rnd.IntN(5) == 0 {
			req.CancelAssign(m.topic, p)
			continue
		}
		for _, n := range m.rnd.Perm(moveBrokers)[:brokers] {
			m.to[p] = append(m.to[p], int32(n))
		}
		req.Assign(m.topic, p, m.to[p])
	}
	// A cancel of what does not move is refused, which is an answer too.
	_, err := adm.AlterPartitionAssignments(ctx, req)
	return err
}

// done tells what is left of the moves.
func (m *moves) done(ctx context.Context, adm *kadm.Client) error {
	under, err := adm.ListPartitionReassignments(ctx, nil)
	if err != nil {
		return err
	}
	if len(under) > 0 {
		return fmt.Errorf("under way: %v", under)
	}
	ps, err := topicState(ctx, adm, m.topic)
	if err != nil {
		return err
	}
	for _, p := range ps.Sorted() {
		if want := m.to[p.Partition]; want != nil && !slices.Equal(p.Replicas, want) || p.Leader < 0 || len(p.ISR) != brokers {
			return fmt.Errorf("partition %d: replicas %v, wanted %v, leader %d, in-sync set %v", p.Partition, p.Replicas, want, p.Leader, p.ISR)
		}
	}
	return nil
}

// Replicas are moved under load, with targets that are replaced and moves that are cancelled, while a broker is killed with -9.
func TestReplicasMovedWhileBrokersAreKilled(t *testing.T) {
	c, adm := cluster(t, control.Options{Brokers: moveBrokers})
	l := newLoad(t, c, adm)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := &moves{topic: l.Topic(), rnd: rand.New(rand.NewPCG(seed, 6))}
	for round := range moveRounds {
		victim := -1
		orders := 1 + m.rnd.IntN(3)
		for n := range orders {
			await(t, fmt.Sprintf("round %d: order %d", round, n), func(ctx context.Context) error { return m.order(ctx, adm) })
			awaitTotal(t, l.Ledger, m.rnd.IntN(200)) // how far the move gets
			if victim < 0 && m.rnd.IntN(orders) <= n {
				victim = m.rnd.IntN(moveBrokers)
				must(t, c.Kill(victim))
			}
		}
		if victim >= 0 {
			awaitTotal(t, l.Ledger, 200)
			must(t, c.Start(victim))
		}
		await(t, fmt.Sprintf("round %d: the moves end", round), func(ctx context.Context) error { return m.done(ctx, adm) })
		awaitAcks(t, l.Ledger, fmt.Sprintf("round %d: acknowledgements afterwards", round), 10)
		t.Logf("round %d: %d orders, broker %d killed", round, orders, victim)
	}
	verify(t, l)
}

// awaitTotal waits for n acknowledgements more than now, of any partitions.
func awaitTotal(t *testing.T, l *workload.Ledger, n int) {
	t.Helper()
	total := func() (sum int) {
		for p := range int32(partitions) {
			sum += l.Acked(p)
		}
		return sum
	}
	before := total()
	await(t, "acknowledgements", func(context.Context) error {
		if got := total() - before; got < n {
			return fmt.Errorf("%d of %d", got, n)
		}
		return nil
	})
}
