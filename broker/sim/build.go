package sim

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/quorum"
)

// simTopic is a topic of the run.
type simTopic struct {
	name       string
	partitions int32
	replicas   int16
	assigned   []kafka.NodeID // of every partition; nil: the controller chooses
	configs    map[string]string
}

// build founds the cluster, starts it, and sets clients and weather going.
func (w *World) build() {
	w.net = network{cut: map[link]bool{}, delay: calmDelay}
	w.check.init()
	voters := 3
	brokers := 3 + w.rnd.IntN(3)
	w.weather.draw(w)
	if w.settleTime = metactl.DefaultSettleTime; w.chance(50) {
		w.settleTime = time.Second // so that leaderships go back in the midst of a storm
	}
	w.logf("seed %d: %d brokers, loss mode %d, a fault every %v, delays up to %v, leaderships settle for %v", w.o.Seed, brokers, w.weather.mode, w.weather.pace, w.weather.maxWait,
		w.settleTime)
	w.found(voters, brokers)
	configs := map[string]string{"min.insync.replicas": "2", "segment.bytes": "1048576"}
	if w.weather.mode == lossAnyTime {
		configs["flush.messages"] = "1" // else a power loss of all replicas may lose what was acknowledged
	}
	w.topics = []simTopic{{name: "t", partitions: 2, replicas: 3, configs: configs}}
	for _, t := range w.topics {
		w.createTopic(t)
		for n := range t.partitions {
			for range 2 {
				w.addProducer(kafka.TopicPartition{Topic: t.name, Partition: n})
			}
		}
	}
	w.weather.begin(w)
	w.check.probe(w)
}

// found makes the hosts and starts the cluster.
func (w *World) found(voters, brokers int) {
	for i := range brokers {
		w.hosts = append(w.hosts, w.newHost(kafka.NodeID(i)))
	}
	f := &quorum.Founding{ClusterID: clusterID, State: metactl.Genesis(clusterID)}
	for _, h := range w.hosts[:voters] {
		f.Voters = append(f.Voters, quorum.Voter{Node: h.id, Directory: h.directory})
	}
	for i, h := range w.hosts {
		founding := f
		if i >= voters {
			founding = nil
		}
		if err := h.format(founding); err != nil {
			w.fail("format: %v", err)
			return
		}
		h.start()
	}
}

// createTopic asks again until the topic is there.
func (w *World) createTopic(t simTopic) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(req.MaxVersion())
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.name, t.partitions, t.replicas
	if t.assigned != nil {
		topic.NumPartitions, topic.ReplicationFactor = -1, -1
		for n := range t.partitions {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition = n
			for _, r := range t.assigned {
				a.Replicas = append(a.Replicas, int32(r))
			}
			topic.ReplicaAssignment = append(topic.ReplicaAssignment, a)
		}
	}
	for _, name := range []string{"flush.messages", "min.insync.replicas", "segment.bytes"} {
		if v, ok := t.configs[name]; ok {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = name, kmsg.StringPtr(v)
			topic.Configs = append(topic.Configs, c)
		}
	}
	req.Topics = append(req.Topics, topic)
	again := func() { w.after(100*time.Millisecond, func() { w.createTopic(t) }) }
	p := w.somebody()
	if p == nil {
		again()
		return
	}
	p.ask(req, func(resp kmsg.Response, err error) {
		r, ok := resp.(*kmsg.CreateTopicsResponse)
		if err != nil || !ok {
			again()
			return
		}
		switch code := kafka.ErrorCode(r.Topics[0].ErrorCode); code {
		case kafka.None, kafka.TopicAlreadyExists:
			w.logf("topic %s: %s", t.name, code)
		case kafka.InvalidReplicationFactor, kafka.InvalidReplicaAssignment: // not enough brokers are registered yet
			again()
		default:
			w.fail("create topic %s: %s %s", t.name, code, strOf(r.Topics[0].ErrorMessage))
		}
	})
	// The process may end before it hears the answer: then nobody would ask again.
	w.after(2*time.Second, func() {
		if w.image().TopicByName(t.name) == nil {
			w.createTopic(t)
		}
	})
}

func strOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// somebody is a random broker that runs, nil when there is none.
func (w *World) somebody() *process {
	var up []*process
	for _, h := range w.hosts {
		if h.proc != nil {
			up = append(up, h.proc)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[w.rnd.IntN(len(up))]
}

func (w *World) everyone() []kafka.NodeID {
	var ids []kafka.NodeID
	for _, h := range w.hosts {
		ids = append(ids, h.id)
	}
	return ids
}

// heal ends all faults and starts everybody.
func (w *World) heal() {
	w.logf("the weather is over")
	w.weather.over = true
	w.weather.calmNetwork(w)
	for _, h := range w.hosts {
		w.weather.calmDisk(h)
		if h.proc == nil {
			h.start()
		}
	}
	w.after(2*time.Second, func() {
		for _, p := range w.producers {
			p.finishing = true
		}
	})
	w.after(15*time.Second, w.electUncleanly)
}

// electUncleanly is the administrator: a partition whose last replica in sync lost its disk, after the others had been killed, waits for
// somebody's leave, rightly. All other logs are there, so the most complete one has everything.
func (w *World) electUncleanly() {
	w.after(5*time.Second, w.electUncleanly)
	p := w.somebody()
	if p == nil || w.weather.mode != lossSingle {
		return
	}
	req := kmsg.NewPtrElectLeadersRequest()
	req.SetVersion(req.MaxVersion())
	req.ElectionType = 1
	for _, t := range w.topics {
		topic := p.image.TopicByName(t.name)
		if topic == nil {
			continue
		}
		for n, s := range topic.Partitions() {
			if s.Leader == kafka.NoNode && len(s.ISR)+len(s.ELR)+len(s.LastKnownELR) == 0 {
				ask := kmsg.NewElectLeadersRequestTopic()
				ask.Topic, ask.Partitions = t.name, []int32{n}
				req.Topics = append(req.Topics, ask)
				w.logf("an administrator asks for an unclean election of %s-%d", t.name, n)
			}
		}
	}
	if len(req.Topics) > 0 {
		p.ask(req, func(kmsg.Response, error) {})
	}
}

// converged tells whether every broker has the same image and every partition its preferred leader and all its replicas, equal to the end.
func (w *World) converged() bool { return w.unconverged() == "" }

// unconverged names what is missing. It is looked at every so often only.
func (w *World) unconverged() string {
	if w.now < w.check.nextLook && w.check.missing != "" {
		return w.check.missing
	}
	w.check.nextLook = w.now.Add(50 * time.Millisecond)
	w.check.missing = w.look()
	return w.check.missing
}

func (w *World) look() string {
	down := ""
	for _, h := range w.hosts {
		if h.proc == nil {
			h.start() // it may have ended after the healing by what happened before
			down = fmt.Sprintf("broker %d is down", h.id)
		} else if len(h.proc.parts.FailedLogs()) > 0 { // somebody repairs it
			h.end("a log failed", false)
			down = fmt.Sprintf("broker %d is started again", h.id)
		}
	}
	if down != "" {
		return down
	}
	for _, h := range w.hosts {
		switch {
		case !h.proc.placed || !h.proc.member.Serving():
			return fmt.Sprintf("broker %d does not serve", h.id)
		case h.proc.image.Version() != w.hosts[0].proc.image.Version():
			return fmt.Sprintf("broker %d has image %d, broker 0 has %d", h.id, h.proc.image.Version(), w.hosts[0].proc.image.Version())
		}
	}
	image := w.hosts[0].proc.image
	for _, t := range w.topics {
		topic := image.TopicByName(t.name)
		if topic == nil {
			return "topic " + t.name + " is missing"
		}
		for n, s := range topic.Partitions() {
			if s.Leader != s.Replicas[0] || len(s.ISR) != len(s.Replicas) {
				return fmt.Sprintf("%s-%d: leader %d, ISR %v, ELR %v of %v", t.name, n, s.Leader, s.ISR, s.ELR, s.Replicas)
			}
			leader := w.describe(s.Leader, t.name, n)
			for _, r := range s.Replicas {
				if d := w.describe(r, t.name, n); d.LogEnd != leader.LogEnd || d.HighWatermark != leader.LogEnd {
					return fmt.Sprintf("%s-%d on %d: end %d, watermark %d, the leader's end is %d", t.name, n, r, d.LogEnd, d.HighWatermark, leader.LogEnd)
				}
			}
		}
	}
	for _, p := range w.producers {
		if !p.finishing || p.batch != nil {
			return fmt.Sprintf("producer %d of %v waits for %d", p.id, p.tp, p.sequence)
		}
	}
	return ""
}
