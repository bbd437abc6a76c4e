package metactl

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// elected holds a new leader against what is committed.
func (m *model) elected() {
	for _, d := range m.delta.Partitions {
		if d.Before == nil || d.After == nil {
			continue
		}
		m.trackElectable(d.Before, d.After)
		m.trackMove(d.Before, d.After)
		if d.After.Leader == d.Before.Leader {
			continue
		}
		// One entry may change a leader and end a move.
		if rise := d.After.LeaderEpoch - d.Before.LeaderEpoch; rise < 1 || rise > 2 {
			m.fail("a new leader has leader epoch %d after %d", d.After.LeaderEpoch, d.Before.LeaderEpoch)
		}
		if d.After.Leader == kafka.NoNode || !m.brokers[d.After.Leader].up {
			continue // a dead process that nobody missed yet leads nothing
		}
		log := m.brokers[d.After.Leader].log
		inSync := d.Before.InISR(d.After.Leader) || d.Before.InELR(d.After.Leader) || slices.Contains(m.joining, d.After.Leader)
		// The only replica leads whatever it is, and one may have reported its end before its log failed.
		if b := m.brokers[d.After.Leader]; b.failed && !inSync && b.reported != d.Before.LeaderEpoch && len(d.Before.Replicas) > 1 {
			m.fail("broker %d leads, though its log failed and it had resigned", d.After.Leader)
		}
		if !inSync && m.c.rules.CleanElection {
			// Every member of ISR and ELR lost records: what is left is what the most complete log has.
			if len(d.Before.ISR)+len(d.Before.ELR) > 0 {
				m.fail("an unclean election with ISR %v and ELR %v, though it is not allowed", d.Before.ISR, d.Before.ELR)
			}
			m.committed = m.committed[:commonPrefix(m.committed, log)]
			for n, b := range m.brokers {
				if b.up && b.reported == d.Before.LeaderEpoch && m.image().Eligible(kafka.NodeID(n)) && b.end > len(log) {
					m.fail("broker %d leads with %d records; the log of %d is more complete: %d", d.After.Leader, len(log), n, b.end)
				}
			}
			continue
		}
		if n := commonPrefix(m.committed, log); n < len(m.committed) {
			m.fail("broker %d leads with %d of %d committed records", d.After.Leader, n, len(m.committed))
		}
	}
	m.delta = metadata.Delta{}
}

func (m *model) trackElectable(before, after *metadata.Partition) {
	for n := range m.brokers {
		id := kafka.NodeID(n)
		switch {
		case len(after.ISR) >= m.minInSync(after) || !after.HasReplica(id):
			m.brokers[n].electable = false
		case before.InISR(id) && !after.InISR(id) && m.brokers[n].previous == m.brokers[n].epoch || m.brokers[n].works() && before.InISR(id) && !after.InISR(id):
			m.brokers[n].electable = true
		}
	}
}

// check holds the image against what must be true after every entry.
func (m *model) check() {
	topic, p := m.partition()
	i := m.image()
	m.checkMove(p)
	if p.Leader != kafka.NoNode && !i.Eligible(p.Leader) {
		m.fail("broker %d leads and is fenced or stopping", p.Leader)
	}
	if p.Leader != kafka.NoNode && !m.brokers[p.Leader].up && m.now.Sub(m.brokers[p.Leader].silent) > 10*time.Second {
		m.fail("broker %d leads and is silent for more than a session", p.Leader)
	}
	for n, b := range m.brokers {
		if p.Leader == kafka.NoNode && b.up && b.electable && i.Eligible(kafka.NodeID(n)) {
			m.fail("nobody leads though replica %d has all that is committed", n)
		}
	}
	if p.Leader == kafka.NoNode && slices.ContainsFunc(slices.Concat(p.ISR, p.ELR), i.Eligible) {
		m.fail("nobody leads, though somebody could: %s", describePartition(p))
	}
	if full := func(n kafka.NodeID) bool { return i.Broker(n).DiskFull }; slices.ContainsFunc(p.ISR, full) && slices.ContainsFunc(p.ISR, i.TakesWrites) {
		m.fail("a full disk holds up writes that others could take: %s", describePartition(p))
	}
	if len(p.ISR) > 1 && !allOf(p.ISR, i.Eligible) && slices.ContainsFunc(p.ISR, m.seemsAlive) {
		m.fail("the ISR has a member that is fenced or stopping: %s", describePartition(p))
	}
	if len(p.ELR) > 0 && len(p.ISR) >= i.MinISR(topic.Name, p.Factor()) {
		m.fail("there is an ELR although the ISR is large enough: %s", describePartition(p))
	}
}

// seemsAlive tells whether a broker is in service and was heard within its session.
func (m *model) seemsAlive(n kafka.NodeID) bool {
	b := m.brokers[n]
	return m.image().Eligible(n) && (b.up || m.now.Sub(b.silent) < 9*time.Second)
}

func allOf(list []kafka.NodeID, f func(kafka.NodeID) bool) bool {
	return !slices.ContainsFunc(list, func(n kafka.NodeID) bool { return !f(n) })
}

func (m *model) story() string {
	return fmt.Sprintf("%s\nmin.insync.replicas=%d\n%s", m.broken, m.minISR, strings.Join(m.trace, "\n"))
}

// -seeds N runs more.
var modelSeeds = flag.Uint64("seeds", 300, "random clusters to run")

// TestNothingCommittedIsLost runs random clusters with all rules on.
func TestNothingCommittedIsLost(t *testing.T) {
	for seed := range *modelSeeds {
		m := runModel(t, seed, AllRules())
		if m.broken != "" {
			t.Fatalf("seed %d: %s", seed, m.story())
		}
		m.checkReplay()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestEachRuleIsNeeded switches the rules off one by one: some random cluster must show what the rule is for.
func TestEachRuleIsNeeded(t *testing.T) {
	f := func(off func(*Rules), want string) {
		t.Helper()
		rules := AllRules()
		off(&rules)
		for seed := range uint64(3000) {
			if m := runModel(t, seed, rules); m.broken != "" {
				if !strings.Contains(m.broken, want) {
					t.Errorf("seed %d shows %q, want %q", seed, m.broken, want)
				}
				t.Logf("seed %d: %s", seed, m.broken)
				return
			}
		}
		t.Errorf("nothing was noticed; want %q", want)
	}
	f(func(r *Rules) { r.CleanElection = false }, "committed records")
	f(func(r *Rules) { r.EligibleReplicas = false }, "has all that is committed")
	f(func(r *Rules) { r.UncleanStop = false }, "committed records")
	f(func(r *Rules) { r.NewDirectory = false }, "committed records")
	f(func(r *Rules) { r.AlterEpochs = false }, "committed records")
	f(func(r *Rules) { r.AlterBrokerEpochs = false }, "committed records")
	f(func(r *Rules) { r.AlterEligibility = false }, "a member that is fenced or stopping")
	f(func(r *Rules) { r.FenceSilent = false }, "silent")
	f(func(r *Rules) { r.StaleBrokerEpochs = false }, "earlier registration")
	f(func(r *Rules) { r.MostCompleteLog = false }, "more complete")
	f(func(r *Rules) { r.DuplicateBroker = false }, "live broker")
}
