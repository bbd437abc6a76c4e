package partition

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// after is what is left to do when the partition's mutex was released: answers, and the sending of ISR changes.
type after struct {
	flush   *Partition // a follower whose log must be flushed before it fetches again
	give    *Partition // whose outbox this goroutine must empty
	deletes []finishedDelete
	alter   *host // that has something to send
}

// finished is a produce that has its answer.
type finished struct {
	done   func(ProduceResult)
	result ProduceResult
}

// run calls back. No lock is held.
func (a *after) run() {
	if a.flush != nil {
		a.flush.askFlush()
	}
	if a.alter != nil {
		a.alter.sendAlters()
	}
	if a.give != nil {
		a.give.giveAnswers()
	}
	for i := range a.deletes {
		a.deletes[i].done(a.deletes[i].result)
	}
}

// giveAnswers empties the outbox. One goroutine does that at a time, so that answers are given in the order in which
// produces completed, whoever completed them; those of a produce that is made in a callback come after the callback.
func (p *Partition) giveAnswers() {
	for {
		p.mu.Lock()
		answers := p.outbox
		p.outbox = nil
		if len(answers) == 0 {
			p.giving = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		for i := range answers {
			answers[i].done(answers[i].result)
		}
	}
}

// carryOut does what the machine asks for, in the order that package replica documents, as far as it belongs under the
// mutex, and returns the rest. p.mu is held. Every step of the machine is followed by it before the mutex is released.
func (p *Partition) carryOut(now kafka.Elapsed) after {
	r := p.machine.Ready(now)
	if r.EarlyWatermark != kafka.NoOffset {
		p.publish(r.EarlyWatermark)
	}
	if r.Truncate != nil {
		p.truncate(*r.Truncate)
	}
	if r.AdvanceStart != kafka.NoOffset {
		p.startWanted = r.AdvanceStart
	}
	if r.StartEpoch {
		p.startEpoch()
	}
	if r.Watermark {
		p.publish(p.machine.HighWatermark())
	}
	if start := p.machine.LogStart(); start != p.startSeen {
		p.startSeen = start
		p.tellNews(numWatchKinds)
	}
	var a after
	switch {
	case !r.Flush:
	case p.machine.Role() == replica.Follower:
		a.flush = p
	default:
		p.host.addFlush(p)
	}
	if r.Alter != nil {
		p.host.propose(p, r.Alter)
		a.alter = p.host
	}
	if len(r.Completed) > 0 {
		if p.outbox == nil {
			p.outbox = make([]finished, 0, len(r.Completed))
		}
		for _, c := range r.Completed {
			p.outbox = append(p.outbox, p.finish(c))
		}
		if !p.giving {
			p.giving, a.give = true, p
		}
	}
	if len(p.deletes) > 0 {
		a.deletes = p.finishDeletes(now)
	}
	if at, ok := p.lookAt(now); ok {
		p.due.Store(int64(at))
		p.host.addRestless(p)
	}
	return a
}

// publish makes the watermark visible: watchers are told, and the next checkpoint has it.
func (p *Partition) publish(hw kafka.Offset) {
	if hw == p.hwSeen {
		return
	}
	if o := p.host.o.Observe; o != nil {
		o.Watermark(p.id, p.hwSeen, hw)
	}
	p.hwSeen = hw
	p.host.changedHW.Store(true)
	p.watches[WatchHighWatermark].notify()
	p.tellNews(WatchHighWatermark)
	if lso := p.lastStable(); lso != p.lsoSeen {
		p.lsoSeen = lso
		p.watches[WatchLastStable].notify()
	}
}

// notifyAll tells every watcher that the partition is not what it was.
func (p *Partition) notifyAll() {
	for i := range p.watches {
		p.watches[i].notify()
	}
}

func (p *Partition) truncate(t replica.Truncation) {
	end := p.log.EndOffset()
	if o := p.host.o.Observe; o != nil {
		o.Truncated(p.id, t.To, end)
	}
	var err error
	if t.Full {
		p.startWanted = 0 // it was of what goes
		err = p.log.TruncateFullyTo(t.To)
	} else {
		err = p.log.TruncateTo(t.To)
	}
	p.owed = nil
	if err == nil {
		return
	}
	if !heals(err) {
		p.storageError("truncate", err)
		return
	}
	p.owed = &t
}

// startEpoch notes in the history that a leader's records begin at the log end. A log that still has what it is to lose ends
// elsewhere: then it is done by a tick, and until then this leader answers KAFKA_STORAGE_ERROR.
func (p *Partition) startEpoch() {
	if p.owed != nil {
		p.truncate(*p.owed)
	}
	if p.owesEpoch = p.owed != nil; p.owesEpoch {
		return
	}
	if o := p.host.o.Observe; o != nil {
		o.Elected(p.id, p.machine.LeaderEpoch(), p.log.EndOffset())
	}
	if err := p.log.AssignEpoch(p.machine.LeaderEpoch()); err != nil {
		p.storageError("note leader epoch of", err)
	}
}
