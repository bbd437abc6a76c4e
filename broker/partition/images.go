package partition

import (
	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// Start takes the first image. It must be one that holds everything up to this broker's own registration: an older one
// could lack topics that are here, and their logs would be put aside as strays.
func (m *Manager) Start(image *metadata.Image, now kafka.Elapsed, wall kafka.Timestamp) {
	m.host.image.Store(image)
	m.started = true
	m.forgetSettings("")
	for _, p := range m.All() {
		if p.id.TopicID.IsZero() {
			if p = m.adopt(p, image, now, wall); p == nil {
				continue
			}
		}
		switch s := image.Partition(p.id); {
		case s != nil && s.HasReplica(m.host.o.Self):
		case s != nil && s.Leader != kafka.NoNode:
			m.remove(p, seglog.DirDelete, now) // moved away while this broker was down
		default:
			m.remove(p, seglog.DirStray, now)
		}
	}
	m.dropFailed(image)
	var todo []placement
	for t := range image.Topics() {
		for i, s := range t.Partitions() {
			todo = append(todo, placement{
				id: kafka.TopicIDPartition{TopicID: t.ID, Partition: i}, topic: t.Name, state: s,
			})
		}
	}
	m.report(m.place(image, todo, now, wall))
}

// adopt gives a log that lost its partition.metadata the id of the topic with its name, and gives the replica back, nil
// when it cannot be opened. To take it for a stray would put aside what may be the only copy.
func (m *Manager) adopt(p *Partition, image *metadata.Image, now kafka.Elapsed, wall kafka.Timestamp) *Partition {
	t := image.TopicByName(p.name.Topic)
	if t == nil {
		return p
	}
	m.forget(p)
	if err := p.close(now); err != nil {
		p.storageError("close", err)
		return nil
	}
	again, _, err := m.openLog(p.name, t.ID, p.hwSeen, seglog.Options{
		LogStart: p.log.StartOffset(), RecoveryPoint: p.log.RecoveryPoint(), Clean: true, Now: wall,
	})
	if err != nil {
		m.openFailed(p.name, "open", err)
		return nil
	}
	m.add(again)
	return again
}

// Apply takes the next image and what changed since the one before.
func (m *Manager) Apply(image *metadata.Image, delta *metadata.Delta, now kafka.Elapsed, wall kafka.Timestamp) {
	m.host.image.Store(image)
	if !m.started {
		return
	}
	m.brokersChanged(image, delta.Brokers, now)
	m.configsChanged(image, delta.Configs, now)
	var changes []Change
	var todo []placement
	for _, d := range delta.Partitions {
		if d.After != nil && d.After.HasReplica(m.host.o.Self) {
			todo = append(todo, placement{id: d.TopicIDPartition, topic: d.Topic, state: d.After})
			continue
		}
		m.mu.Lock()
		if image.TopicByName(d.Topic) == nil {
			delete(m.topics, d.Topic)
		}
		p := m.byID[d.TopicIDPartition]
		delete(m.missing, d.TopicIDPartition)
		m.mu.Unlock()
		if p == nil {
			m.removeFailed(d.Topic, d.TopicIDPartition, now)
		} else {
			m.remove(p, seglog.DirDelete, now)
			changes = append(changes, Change{Partition: p, Leader: Leader{ID: kafka.NoNode, Epoch: kafka.NoLeaderEpoch}, Gone: true})
		}
	}
	m.report(append(changes, m.place(image, todo, now, wall)...))
}

// placement is a partition of an image.
type placement struct {
	id    kafka.TopicIDPartition
	topic string
	state *metadata.Partition
}

// place creates the logs that are missing and gives the partitions their state.
func (m *Manager) place(image *metadata.Image, todo []placement, now kafka.Elapsed, wall kafka.Timestamp) (changes []Change) {
	var here, create []placement
	for _, pl := range todo {
		if !pl.state.HasReplica(m.host.o.Self) {
			continue
		}
		here = append(here, pl)
		m.settings(pl.topic) // resolved before several goroutines ask for it
		if p, code := m.GetByID(pl.id); p == nil && code != kafka.KafkaStorageError {
			create = append(create, pl)
		}
	}
	m.create(create, wall)
	for _, pl := range here {
		p, _ := m.GetByID(pl.id)
		if p == nil {
			continue // could not be created: see retryMissing
		}
		if c, changed := p.assign(image, pl.state, m.settings(pl.topic), now); changed {
			changes = append(changes, c)
		}
	}
	return changes
}

// create makes new, empty logs. Nothing of them is durable before they are flushed: what a crash takes is made again.
func (m *Manager) create(todo []placement, wall kafka.Timestamp) {
	if len(todo) == 0 {
		return
	}
	m.host.o.Each(len(todo), func(i int) {
		tp := kafka.TopicPartition{Topic: todo[i].topic, Partition: todo[i].id.Partition}
		u := m.optionsFor(tp, wall)
		p, _, err := m.openLog(tp, todo[i].id.TopicID, u.watermark, u.options)
		if err != nil {
			if m.openFailed(tp, "create", err) {
				return
			}
			m.mu.Lock()
			m.missing[todo[i].id] = todo[i].topic
			m.mu.Unlock()
			return
		}
		m.add(p)
	})
}

// RetryMissing tries again to create or open what could not be created for lack of space or handles. It is called by the
// goroutine that applies images, every few seconds.
func (m *Manager) RetryMissing(now kafka.Elapsed, wall kafka.Timestamp) {
	m.mu.RLock()
	image := m.host.image.Load()
	var todo []placement
	for id, topic := range m.missing {
		if s := image.Partition(id); s != nil {
			todo = append(todo, placement{id: id, topic: topic, state: s})
		}
	}
	m.mu.RUnlock()
	sortPlacements(todo)
	m.report(m.place(image, todo, now, wall))
}

// brokersChanged tells every partition about brokers that came, went, or changed their standing.
func (m *Manager) brokersChanged(image *metadata.Image, deltas []metadata.BrokerDelta, now kafka.Elapsed) {
	for _, d := range deltas {
		if facts := brokerFacts(d.After); facts != brokerFacts(d.Before) {
			for _, p := range m.All() {
				p.brokerChanged(d.ID, facts, now)
			}
		}
	}
}

// configsChanged gives partitions their new settings. A change for one topic touches its partitions alone.
func (m *Manager) configsChanged(image *metadata.Image, deltas []metadata.ConfigDelta, now kafka.Elapsed) {
	if len(deltas) == 0 {
		return
	}
	all := false
	topics := map[string]bool{}
	for _, d := range deltas {
		if d.Resource.Type == metadata.TopicResource {
			topics[d.Resource.Name] = true
			m.forgetSettings(d.Resource.Name)
		} else {
			all = true
		}
	}
	if all {
		m.forgetSettings("")
	}
	for _, p := range m.All() {
		if !all && !topics[p.name.Topic] {
			continue
		}
		replicas := 1
		if s := image.Partition(p.id); s != nil {
			replicas = s.Factor()
		}
		p.reconfigure(image, replicas, m.settings(p.name.Topic), now)
	}
}

// forgetSettings has the settings of a topic resolved anew, "": those of all.
func (m *Manager) forgetSettings(topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if topic == "" {
		clear(m.topics)
	} else {
		delete(m.topics, topic)
	}
}

// settings are a topic's settings as resolved from the latest image.
func (m *Manager) settings(topic string) *config.Topic {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.topics[topic]
	if s == nil {
		resolved := m.host.o.Settings(m.host.image.Load(), topic)
		s = &resolved
		m.topics[topic] = s
	}
	return s
}

func (m *Manager) report(changes []Change) {
	if len(changes) > 0 && m.host.o.OnChange != nil {
		m.host.o.OnChange(changes)
	}
}
