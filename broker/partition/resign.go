package partition

import (
	"iter"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker whose log failed lives on, so nobody fences it: it has to say itself that this replica is of no use. It asks the
// controller for the ISR of the image without itself until its image shows it in neither ISR nor ELR. Where it led another
// replica leads then; where it followed, acks=all waits for it no more, and nobody elects it. It is refused when no other replica can
// lead, which may be so until the next start: the pause between two tries bounds what that costs.

// resignRetry is the pause between two requests.
const resignRetry = 500 * time.Millisecond

// resign asks for what the image does not show yet. It is called by the loop of ticks.
func (m *Manager) resign(now kafka.Elapsed) {
	if m.resigning.Load() > 0 || now < m.resignAt {
		return
	}
	todo := m.resignations()
	if len(todo) == 0 {
		return
	}
	m.resignAt = now.Add(resignRetry)
	for some := range slices.Chunk(todo, maxAlterBatch) {
		m.resigning.Add(1)
		// What came of it, the image tells.
		m.host.o.Alter(m.host.alterRequest(alterations(some)), func(*kmsg.AlterPartitionResponse, error) { m.resigning.Add(-1) })
	}
}

// resignation is one entry of the request.
type resignation struct {
	id kafka.TopicIDPartition
	replica.Alter
}

func alterations(list []resignation) iter.Seq2[kafka.TopicIDPartition, *replica.Alter] {
	return func(yield func(kafka.TopicIDPartition, *replica.Alter) bool) {
		for i := range list {
			if !yield(list[i].id, &list[i].Alter) {
				return
			}
		}
	}
}

// resignations lists the replicas with a failed log that the image shows in ISR or ELR, but for those that have no other beside
// them.
func (m *Manager) resignations() (todo []resignation) {
	image, self := m.host.image.Load(), m.host.o.Self
	for _, id := range m.failedReplicas() {
		s := image.Partition(id)
		if s == nil || len(s.Replicas) == 1 || !s.InISR(self) && !s.InELR(self) {
			continue
		}
		a := replica.Alter{LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.Epoch}
		for _, n := range s.ISR {
			if n != self { // in whatever life: nobody is proposed who is not in the ISR
				a.ISR = append(a.ISR, replica.Member{ID: n, Epoch: kafka.NoBrokerEpoch})
			}
		}
		todo = append(todo, resignation{id, a})
	}
	return todo
}

// failedReplicas are the replicas whose log is out of service, of those that were never opened by the names of the image.
func (m *Manager) failedReplicas() []kafka.TopicIDPartition {
	image := m.host.image.Load()
	m.failedOpen = slices.DeleteFunc(m.failedOpen, func(p *Partition) bool {
		there, _ := m.GetByID(p.id)
		return there != p // removed
	})
	var ids []kafka.TopicIDPartition
	for _, p := range m.failedOpen {
		ids = append(ids, p.id)
	}
	m.mu.RLock()
	unopened := make([]kafka.TopicPartition, 0, len(m.failed))
	for tp := range m.failed {
		unopened = append(unopened, tp)
	}
	m.mu.RUnlock()
	slices.SortFunc(unopened, compareNames)
	for _, tp := range unopened {
		if t := image.TopicByName(tp.Topic); t != nil {
			ids = append(ids, kafka.TopicIDPartition{TopicID: t.ID, Partition: tp.Partition})
		}
	}
	return ids
}
