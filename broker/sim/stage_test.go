package sim

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// stage is a world without weather, for scenarios: short scripts that bring about what weather seldom does. Brokers 0 to 2 vote and are left
// alone; brokers 3 to 5 hold the replicas of the one partition, in this order. Everything is checked as in a storm.
type stage struct {
	*World
	tp kafka.TopicPartition
}

// scenario is one script.
type scenario struct {
	configs map[string]string // of the topic, besides min.insync.replicas=2
	play    func(s *stage)
}

// runScenario plays a scenario, heals, and demands convergence.
func runScenario(o Options, sc scenario) Result {
	return run(o, func(w *World) {
		w.net = network{cut: map[link]bool{}, delay: calmDelay}
		w.check.init()
		w.weather.mode = lossSingle
		w.found(3, 6)
		configs := map[string]string{"min.insync.replicas": "2", "segment.bytes": "1048576"}
		for k, v := range sc.configs {
			configs[k] = v
		}
		t := simTopic{name: "t", partitions: 1, assigned: []kafka.NodeID{3, 4, 5}, configs: configs}
		w.topics = []simTopic{t}
		w.createTopic(t)
		w.check.probe(w)
		s := &stage{w, kafka.TopicPartition{Topic: t.name}}
		for range 3 {
			w.addProducer(s.tp)
			w.producers[len(w.producers)-1].manual = true
		}
		s.until("all are in sync", func() bool { return s.leads(3) && s.inSync(3, 4, 5) && s.serving(0, 1, 2, 3, 4, 5) })
		s.run(time.Second)
		sc.play(s)
	})
}

// patience bounds how long a script waits for what must come.
const patience = 30 * time.Second

// until runs until something holds, which must come.
func (s *stage) until(what string, holds func() bool) {
	if !s.wait(patience, holds) {
		s.fail("scenario: not reached: %s", what)
	}
}

// wait runs until something holds, or for a time.
func (s *stage) wait(d time.Duration, holds func() bool) bool {
	return s.runUntil("scenario", s.now.Add(d), holds)
}

func (s *stage) run(d time.Duration) { s.wait(d, func() bool { return false }) }

// state is the partition in the newest image.
func (s *stage) state() *metadata.Partition {
	t := s.image().TopicByName(s.tp.Topic)
	if t == nil {
		return &metadata.Partition{Leader: kafka.NoNode}
	}
	return t.Partition(s.tp.Partition)
}

// leads tells whether a broker leads, in the newest image and in its own mind.
func (s *stage) leads(n kafka.NodeID) bool {
	return s.state().Leader == n && s.up(n) && s.log(n).Role == replica.Leader && s.log(n).Leader.Epoch == s.state().LeaderEpoch
}

// inSync tells whether just these are in the ISR.
func (s *stage) inSync(nodes ...kafka.NodeID) bool { return slices.Equal(s.state().ISR, nodes) }

func (s *stage) up(n kafka.NodeID) bool { return s.hosts[n].proc != nil }

func (s *stage) serving(nodes ...kafka.NodeID) bool {
	return !slices.ContainsFunc(nodes, func(n kafka.NodeID) bool {
		b := s.image().Broker(n)
		return !s.up(n) || b == nil || b.Fenced || b.Incarnation != s.hosts[n].proc.incarnation || !s.hosts[n].proc.member.Serving()
	})
}

func (s *stage) log(n kafka.NodeID) partition.Description {
	return s.describe(n, s.tp.Topic, s.tp.Partition)
}

// send begins a batch of n records; produce also waits until it is acknowledged.
func (s *stage) send(n int) *producer {
	for _, p := range s.producers {
		if p.batch == nil {
			p.epoch = s.state().LeaderEpoch // it believes no older metadata
			p.begin(n)
			return p
		}
	}
	s.fail("scenario: every producer waits for an answer")
	return s.producers[0]
}

func (s *stage) produce(n int) {
	p := s.send(n)
	s.until("acknowledged", func() bool { return p.batch == nil })
}

// flow lets all producers go on by themselves.
func (s *stage) flow() {
	for _, p := range s.producers {
		p.manual = false
		p.next()
	}
}

func (s *stage) kill(nodes ...kafka.NodeID) {
	for _, n := range nodes {
		s.hosts[n].end("killed", false)
	}
}

// vanish takes the power of brokers without anybody being told. What was not synced is gone.
func (s *stage) vanish(nodes ...kafka.NodeID) {
	for _, n := range nodes {
		s.hosts[n].vanish()
	}
}

// stop asks a broker to leave and waits until it has.
func (s *stage) stop(n kafka.NodeID) {
	s.leave(n)
	s.until("stopped", func() bool { return !s.up(n) })
}

func (s *stage) leave(n kafka.NodeID) {
	p := s.hosts[n].proc
	p.do(func() { p.tell(membership.Shutdown{Limit: 5 * time.Second}) })
}

func (s *stage) start(nodes ...kafka.NodeID) {
	for _, n := range nodes {
		s.hosts[n].start()
	}
}

// replaceDisk gives a broker that is down an empty disk.
func (s *stage) replaceDisk(n kafka.NodeID) {
	h := s.hosts[n]
	h.disk = s.newDisk(h)
	binary.BigEndian.PutUint64(h.directory[8:], uint64(h.starts))
	if err := h.format(nil); err != nil {
		s.fail("format: %v", err)
	}
}

// loseFolder deletes the folder of the log under a running broker.
func (s *stage) loseFolder(n kafka.NodeID) { s.hosts[n].loseFolder(s.tp) }

// cut lets nothing pass between a broker and others, in both directions; everybody when there are none.
func (s *stage) cut(n kafka.NodeID, others ...kafka.NodeID) { s.setCut(true, n, others) }
func (s *stage) uncut(n kafka.NodeID, others ...kafka.NodeID) {
	s.setCut(false, n, others)
}

func (s *stage) setCut(cut bool, n kafka.NodeID, others []kafka.NodeID) {
	if others == nil {
		others = append(s.everyone(), client)
	}
	for _, o := range others {
		if o != n {
			s.net.cut[link{n, o}], s.net.cut[link{o, n}] = cut, cut
		}
	}
}

func (s *stage) hold(h hold) *hold {
	h.w = s.World
	s.net.holds = append(s.net.holds, &h)
	return &h
}

func (h *hold) caught() bool { return len(h.waiting) > 0 }

// deleteRecords moves the log start, as a client may.
func (s *stage) deleteRecords(before kafka.Offset) {
	p := s.hosts[s.state().Leader].proc
	part, _ := p.parts.Get(s.tp)
	p.do(func() {
		part.DeleteRecords(partition.DeleteRecordsRequest{Before: before, Timeout: time.Second, Now: s.now}, func(partition.DeleteRecordsResult) {})
	})
	s.until("deleted", func() bool { return s.log(p.h.id).LogStart == before })
}

// fetchNow lets a follower fetch from a leader without the network, until there is nothing more.
func (s *stage) fetchNow(n, leader kafka.NodeID) {
	p, q := s.hosts[n].proc, s.hosts[leader].proc
	f := p.fetchers.Fetcher(leader)
	for range 5 {
		req, ok := f.Next(s.now, p.epoch)
		if !ok {
			return
		}
		var answer *kmsg.FetchResponse
		q.serveFetch(recode(s.World, req).(*kmsg.FetchRequest), func(resp any) { answer = resp.(*kmsg.FetchResponse) })
		if answer == nil { // it waits
			f.Handle(nil, errNoAnswer, s.now, p.h.wall())
			return
		}
		f.Handle(answer, nil, s.now, p.h.wall())
	}
}
