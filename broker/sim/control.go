package sim

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metactl"
)

var errNoLeader = errors.New("no quorum leader")

// ask sends a request to the quorum's leader, once.
func (p *process) ask(req kmsg.Request, done func(kmsg.Response, error)) {
	w := p.h.w
	leader := p.node.Leader()
	req = recode(w, req)
	finish := func(resp any, err error) {
		r, _ := resp.(kmsg.Response)
		if err == nil && r == nil {
			err = errNoLeader
		}
		done(r, err)
	}
	switch leader {
	case kafka.NoNode:
		w.after(time.Millisecond, func() { p.do(func() { done(nil, errNoLeader) }) })
	case p.h.id:
		w.after(0, func() {
			p.do(func() {
				p.decide(req, func(resp any) { w.after(0, func() { p.do(func() { finish(resp, nil) }) }) })
			})
		})
	default:
		w.call(p, leader, req.Key(), func(q *process, answer func(any)) { q.decide(req, answer) }, finish)
		if w.chance(w.net.dup) { // a copy that somebody held back
			late := recode(w, req)
			w.after(w.between(0, 3*time.Second), func() {
				w.onHost(leader, func(q *process) { q.decide(late, func(any) {}) }, nil)
			})
		}
	}
}

// decide puts a request to this process's own node. A refusal is answered by nil.
func (p *process) decide(req kmsg.Request, answer func(any)) {
	p.node.Submit(req, p.h.w.now, func(reply any, err error) {
		resp, ok := reply.(kmsg.Response)
		if err != nil || !ok {
			answer(nil)
			return
		}
		answer(recodeResponse(p.h.w, req, resp))
	})
	p.pump()
}

// recode sends a request through its encoding, so that the two sides share no memory.
func recode(w *World, req kmsg.Request) kmsg.Request {
	var to kmsg.Request
	if _, ok := req.(*metactl.LogEndsRequest); ok {
		to = new(metactl.LogEndsRequest)
	} else {
		to = kmsg.RequestForKey(req.Key())
	}
	to.SetVersion(req.GetVersion())
	if err := to.ReadFrom(req.AppendTo(nil)); err != nil {
		w.fail("recode %T: %v", req, err)
	}
	return to
}

func recodeResponse(w *World, req kmsg.Request, resp kmsg.Response) kmsg.Response {
	resp.SetVersion(req.GetVersion())
	to := req.ResponseKind()
	if err := to.ReadFrom(resp.AppendTo(nil)); err != nil {
		w.fail("recode %T: %v", resp, err)
	}
	return to
}

// alter carries an ISR change to the controller.
func (p *process) alter(req *kmsg.AlterPartitionRequest, done func(*kmsg.AlterPartitionResponse, error)) {
	p.h.w.check.proposed(p.h.w, p, req)
	req.SetVersion(req.MaxVersion())
	p.ask(req, func(resp kmsg.Response, err error) {
		altered, _ := resp.(*kmsg.AlterPartitionResponse)
		done(altered, err)
		p.flush()
	})
}

// loops are what the goroutines of a server do every so often.
func (p *process) loops() {
	w := p.h.w
	every := func(d time.Duration, do func()) {
		var next func()
		next = func() {
			p.do(do)
			if p.h.proc == p {
				w.after(d, next)
			}
		}
		w.after(w.between(0, d), next)
	}
	every(50*time.Millisecond, func() {
		p.parts.Tick(w.now)
		p.tell(membership.DiskFull{Full: p.parts.Full()}) // heard as news only when it changes
		p.tell(membership.QuorumStalled{Stalled: p.node.Stalled()})
		p.flush()
	})
	every(time.Second, func() {
		p.note("checkpoint watermarks", p.parts.CheckpointWatermarks())
		p.note("purge", p.parts.Purge(w.now))
	})
	every(3*time.Second, func() { p.note("checkpoint recovery", p.parts.CheckpointRecovery()) })
	every(2*time.Second, func() {
		p.parts.FlushOld(func() error { return nil }, w.now)
		if p.placed {
			p.parts.RetryMissing(w.now, p.h.wall())
		}
		p.reportLogEnds()
	})
	every(4*time.Second, func() {
		_, errs := p.parts.Retain(w.now, p.h.wall())
		for _, err := range errs {
			p.note("retain", err)
		}
	})
}

func (p *process) note(doing string, err error) {
	if err != nil {
		p.h.w.logf("broker %d: %s: %v", p.h.id, doing, err)
	}
}

// flush flushes when it is wanted, a little later, as the loop beside the appends does.
func (p *process) flush() {
	if p.flushing {
		return
	}
	select {
	case <-p.parts.FlushWanted():
	default:
		return
	}
	p.flushing = true
	w := p.h.w
	w.after(w.flushDelay+w.between(0, 4*time.Millisecond), func() {
		p.do(func() {
			p.flushing = false
			p.parts.Flush(w.now)
			p.flush()
		})
	})
}

// reportLogEnds tells the controller the ends of leaderless logs.
func (p *process) reportLogEnds() {
	req := &metactl.LogEndsRequest{BrokerID: p.h.id, BrokerEpoch: p.epoch}
	for t := range p.image.Topics() {
		for n, s := range t.Partitions() {
			id := kafka.TopicIDPartition{TopicID: t.ID, Partition: n}
			replica, code := p.parts.GetByID(id)
			if s.Leader != kafka.NoNode || !s.HasReplica(p.h.id) || code != kafka.None {
				continue
			}
			d, ok := replica.LogEnd(metactl.MaxEndEpochs)
			if !ok {
				continue
			}
			req.Ends = append(req.Ends, metactl.LogEnd{TopicIDPartition: id, LeaderEpoch: s.LeaderEpoch, EndOffset: d.Offset, Epochs: d.Epochs})
		}
	}
	if len(req.Ends) > 0 && p.epoch != kafka.NoBrokerEpoch {
		p.ask(req, func(kmsg.Response, error) {})
	}
}
