package metactl

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rand is a source of random bits for topic ids and the start of placements; math/rand/v2's sources satisfy it.
type Rand interface{ Uint64() uint64 }

// Options are the settings of the broker on which the controller runs. Zero values are Kafka's defaults.
type Options struct {
	Rules *Rules // nil: all on
	// Static is the broker's own file: the lowest layer when topics' settings are judged, and the value of
	// unclean.leader.election.enable where neither the topic nor all brokers set it.
	Static config.Values

	SessionTimeout    time.Duration // broker.session.timeout.ms, 9 s
	DefaultPartitions int32         // num.partitions, 1
	DefaultReplicas   int16         // default.replication.factor, 1
	// RecoveryBound is how long an unclean election waits for the ends of more logs after the first; 5 s.
	RecoveryBound time.Duration
	// SettleTime is how long a broker must have been unfenced before leaderships go back to it, DefaultSettleTime when 0: one that
	// dies soon after each start does not get them, and one that is just back first lets its clients connect again.
	SettleTime time.Duration
	// RebalanceInterval is leader.imbalance.check.interval.seconds when the user set it. 0 gives leaderships back as soon as
	// the preferred replicas are in sync again and have settled.
	RebalanceInterval time.Duration
	RebalanceDisabled bool // auto.leader.rebalance.enable=false
	DeletionDisabled  bool // delete.topic.enable=false
	// HasVote tells whether a node votes in the metadata quorum; nil: none does.
	HasVote func(kafka.NodeID) bool
}

// Rules are the rules of replication that live here, each of which can be switched off so that the simulation can show
// the checker that notices. All are on in a broker.
type Rules struct {
	CleanElection     bool // a leader is elected from ISR ∪ ELR only, unless the topic allows otherwise
	EligibleReplicas  bool // replicas that leave the ISR when it falls below min.insync.replicas stay electable (KIP-966)
	UncleanStop       bool // a broker that stopped uncleanly leaves ISR and ELR when it registers again
	NewDirectory      bool // a broker that comes back with another directory leaves ISR and ELR for good
	AlterEpochs       bool // AlterPartition is refused when leader epoch or partition epoch are not current
	AlterBrokerEpochs bool // AlterPartition is refused for members of an earlier registration (KIP-903)
	AlterEligibility  bool // AlterPartition is refused for members that are fenced or stopping (KIP-841)
	FenceSilent       bool // a broker that is silent for its session timeout is fenced
	StaleBrokerEpochs bool // heartbeats and AlterPartition of an earlier registration are refused
	MostCompleteLog   bool // an unclean election takes the replica with the most complete log, not the first to come
	DuplicateBroker   bool // a second process with a live broker's id is refused
}

// AllRules has every rule on.
func AllRules() Rules {
	return Rules{true, true, true, true, true, true, true, true, true, true, true}
}

// Controller is the machine. Its methods are described in the package comment.
type Controller struct {
	options   Options
	rules     Rules
	committed *metadata.Image
	leading   bool
	// While leading: committed plus the open proposals, and their number.
	speculative *metadata.Image
	open        int
	soft        soft
}

// New is a controller over an image, not leading.
func New(o Options, image *metadata.Image) *Controller {
	c := &Controller{options: o.withDefaults(), rules: AllRules(), committed: image}
	if o.Rules != nil {
		c.rules = *o.Rules
	}
	if c.committed == nil {
		c.committed = &metadata.Image{}
	}
	return c
}

func (o Options) withDefaults() Options {
	defaultTo := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	defaultTo(&o.SessionTimeout, 9*time.Second)
	defaultTo(&o.RecoveryBound, 5*time.Second)
	defaultTo(&o.SettleTime, DefaultSettleTime)
	if o.DefaultPartitions == 0 {
		o.DefaultPartitions = 1
	}
	if o.DefaultReplicas == 0 {
		o.DefaultReplicas = 1
	}
	if o.HasVote == nil {
		o.HasVote = func(kafka.NodeID) bool { return false }
	}
	return o
}

// Image is the committed image.
func (c *Controller) Image() *metadata.Image { return c.committed }

// Leading tells whether the controller decides: between BecomeLeader and LoseLeadership.
func (c *Controller) Leading() bool { return c.leading }

// Apply takes in a committed entry.
func (c *Controller) Apply(index uint64, records []metadata.Record) (*metadata.Image, metadata.Delta) {
	image, delta := c.committed.Apply(index, records)
	c.committed = image
	if c.leading {
		if len(records) > 0 && c.open > 0 {
			c.open--
		}
		if c.open == 0 {
			c.speculative = image
		}
		c.soft.note(delta)
	}
	return image, delta
}

// Restore takes in a snapshot in place of all before it.
func (c *Controller) Restore(image *metadata.Image) {
	c.LoseLeadership()
	c.committed = image
}

// BecomeLeader starts deciding. Every entry of earlier terms must have been applied. All brokers count as just heard of.
func (c *Controller) BecomeLeader(now kafka.Elapsed) {
	c.leading, c.speculative, c.open = true, c.committed, 0
	c.soft = newSoft(c.committed, now)
}

// LoseLeadership ends deciding and drops the speculative image and the soft facts.
func (c *Controller) LoseLeadership() {
	c.leading, c.speculative, c.open = false, nil, 0
	c.soft = soft{}
}

// Decide answers a command. now is the host's steady clock, wall dates what is kept. The records, when there are any, are
// to be proposed as one entry, and count as proposed.
func (c *Controller) Decide(req kmsg.Request, now kafka.Elapsed, wall kafka.Timestamp, rnd Rand) ([]metadata.Record, kmsg.Response) {
	if !c.leading {
		return nil, refuse(req, kafka.NotController)
	}
	t := c.begin(now, wall, rnd)
	resp := t.decide(req)
	return c.propose(t), resp
}

// Tick does what time demands: fences silent brokers, ends the waiting of unclean elections, moves leaderships back. It is
// called a few times a second; a longer gap counts as a pause of this process, see excusePause.
func (c *Controller) Tick(now kafka.Elapsed) []metadata.Record {
	if !c.leading {
		return nil
	}
	t := c.begin(now, kafka.NoTimestamp, nil)
	t.tick()
	return c.propose(t)
}

// Suspect fences a broker whose process closed its connection: dead in all likelihood. A living one proves it by its next
// heartbeat. epoch names the registration that the connection belonged to, NoBrokerEpoch any.
func (c *Controller) Suspect(node kafka.NodeID, epoch kafka.BrokerEpoch, now kafka.Elapsed) []metadata.Record {
	if !c.leading {
		return nil
	}
	t := c.begin(now, kafka.NoTimestamp, nil)
	t.suspect(node, epoch)
	return c.propose(t)
}
