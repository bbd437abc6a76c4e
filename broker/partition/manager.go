package partition

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// Manager owns the log directory and every partition in it.
//
//	New -> Open (all logs there are) -> Start (the first image) -> Apply (each later one) … -> Close
//
// Open, Start, Apply and Close are called by one goroutine, one after the other; everything else by any.
type Manager struct {
	host *host

	started bool // of the goroutine that applies images

	// Of the loops of run.go, one each; see there.
	lastSpace    kafka.Elapsed
	failureTold  bool // to watchers, that the directory is offline
	failedOpen   []*Partition
	resignAt     kafka.Elapsed
	recoverySeed maphash.Seed
	recoverySum  uint64 // of the hashes of what was last written of each log
	compactAfter map[*Partition]compactRetry

	mu     sync.RWMutex             // guards the rest; taken before a partition's mutex
	topics map[string]*config.Topic // resolved settings of topics with partitions here
	// Both maps hold the same partitions, but for those that lost their topic's id and have none until Start.
	byName   map[kafka.TopicPartition]*Partition
	byID     map[kafka.TopicIDPartition]*Partition
	missing  map[kafka.TopicIDPartition]string // replicas that shall be here and could not be created yet: the topic's name
	unopened map[kafka.TopicPartition]unopened // logs that are here and could not be opened yet, for lack of space or handles
	failed   map[kafka.TopicPartition]*Failure // logs that are here and could not be opened for another reason
	doomed   []doomedDir
	progress Progress

	read      atomic.Int64 // Progress.ReadBytes
	resigning atomic.Int32 // requests of resign.go in flight
}

// Progress of Open, for health and readiness. While Opening some number grows, unless the disk does not answer.
type Progress struct {
	Opening       bool
	Looked        int // at folders, before the first log is opened
	Opened, Total int
	ScannedBytes  int64 // checked again after an unclean stop, of the logs that are open
	ReadBytes     int64 // read by recovery, of those that are not open yet too
}

// New makes a manager that holds nothing yet.
func New(o Options) *Manager {
	if o.Each == nil {
		o.Each = func(n int, do func(int)) {
			for i := range n {
				do(i)
			}
		}
	}
	if o.EachSync == nil {
		o.EachSync = o.Each
	}
	m := &Manager{
		host: &host{o: o, wakeFlush: make(chan struct{}, 1), alterAt: map[*Partition]int{}}, topics: map[string]*config.Topic{},
		byName: map[kafka.TopicPartition]*Partition{}, byID: map[kafka.TopicIDPartition]*Partition{},
		missing: map[kafka.TopicIDPartition]string{}, unopened: map[kafka.TopicPartition]unopened{},
		failed: map[kafka.TopicPartition]*Failure{}, compactAfter: map[*Partition]compactRetry{}, recoverySeed: maphash.MakeSeed(),
	}
	m.host.image.Store(&metadata.Image{})
	return m
}

// Get finds a partition by name. The code says what to answer if it is not here: UNKNOWN_TOPIC_OR_PARTITION when the
// cluster has none, KAFKA_STORAGE_ERROR when its log could not be opened, NOT_LEADER_OR_FOLLOWER when others have it.
func (m *Manager) Get(tp kafka.TopicPartition) (*Partition, kafka.ErrorCode) {
	m.mu.RLock()
	p := m.byName[tp]
	m.mu.RUnlock()
	if p != nil {
		return p, kafka.None
	}
	if t := m.host.image.Load().TopicByName(tp.Topic); t == nil || t.Partition(tp.Partition) == nil {
		return nil, kafka.UnknownTopicOrPartition
	}
	return nil, m.absent(tp)
}

// absent is the code for a partition of the cluster that is not open here.
func (m *Manager) absent(tp kafka.TopicPartition) kafka.ErrorCode {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.failed[tp] != nil {
		return kafka.KafkaStorageError
	}
	return kafka.NotLeaderOrFollower
}

// GetByID finds a partition by its topic's id: UNKNOWN_TOPIC_ID when the cluster has no such topic, and else as Get.
func (m *Manager) GetByID(tp kafka.TopicIDPartition) (*Partition, kafka.ErrorCode) {
	m.mu.RLock()
	p := m.byID[tp]
	m.mu.RUnlock()
	if p != nil {
		return p, kafka.None
	}
	t := m.host.image.Load().TopicByID(tp.TopicID)
	switch {
	case t == nil:
		return nil, kafka.UnknownTopicID
	case t.Partition(tp.Partition) == nil:
		return nil, kafka.UnknownTopicOrPartition
	}
	return nil, m.absent(kafka.TopicPartition{Topic: t.Name, Partition: tp.Partition})
}

// All lists the partitions in order of topic and number.
func (m *Manager) All() []*Partition {
	all := m.each()
	slices.SortFunc(all, func(a, b *Partition) int { return compareNames(a.name, b.name) })
	return all
}

// each lists the partitions in no order.
func (m *Manager) each() []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]*Partition, 0, len(m.byName))
	for _, p := range m.byName {
		all = append(all, p)
	}
	return all
}

// Fence makes this broker serve nothing as a leader, and tells all that watch; Unfence ends that: it has lost the quorum, and
// another broker may lead what it led.
func (m *Manager) Fence()   { m.fence(true) }
func (m *Manager) Unfence() { m.fence(false) }

func (m *Manager) fence(on bool) {
	m.host.fenced.Store(on)
	m.host.standing.Add(1)
	if on {
		m.notifyAll()
	}
}

// notifyAll tells every watcher of every partition that it is not what it was.
func (m *Manager) notifyAll() {
	for _, p := range m.All() {
		p.mu.Lock()
		p.notifyAll()
		p.mu.Unlock()
	}
}

// Standing is a number that rises with what changes the answers of all partitions at once, of which no watch tells: fencing and
// the failure of the directory.
func (m *Manager) Standing() uint64 { return m.host.standing.Load() }

// Failure is why the log directory is offline, nil while it works. The process should end: what it leads is led by
// others as soon as it is gone.
func (m *Manager) Failure() error {
	if f := m.host.failure.Load(); f != nil {
		return f
	}
	return nil
}

// Full tells whether appends are refused for lack of space.
func (m *Manager) Full() bool { return m.host.space.full.Load() }

// Progress tells how far Open is.
func (m *Manager) Progress() Progress {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p := m.progress
	p.ReadBytes = m.read.Load()
	return p
}

func (m *Manager) add(p *Partition) {
	m.mu.Lock()
	m.byName[p.name] = p
	if !p.id.TopicID.IsZero() {
		m.byID[p.id] = p
	}
	delete(m.missing, p.id)
	delete(m.unopened, p.name)
	m.mu.Unlock()
}

func (m *Manager) forget(p *Partition) {
	m.mu.Lock()
	delete(m.byName, p.name)
	delete(m.byID, p.id) // of one without an id there is none
	m.mu.Unlock()
}
