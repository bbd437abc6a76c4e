package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/replication"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// process is one run of a broker on its host: the parts of package server, wired by direct calls.
type process struct {
	h           *host
	began       kafka.Elapsed
	incarnation kafka.UUID
	dir         *seglog.Directory
	node        *quorum.Node
	member      *membership.Machine
	parts       *partition.Manager
	fetchers    *replication.Set
	closed      bool // its logs were closed cleanly
	// uncleanStart: there was no sign of a clean stop.
	uncleanStart bool
	previous     kafka.BrokerEpoch

	image      *metadata.Image // the newest that was followed
	updates    []imageUpdate   // published and not followed yet
	newest     uint64          // version of the newest that was published
	following  bool            // an event will follow them
	placed     bool            // the partitions have their roles
	epoch      kafka.BrokerEpoch
	lastLeader kafka.NodeID // of the quorum

	nodeDue, memberDue kafka.Elapsed // when the next timer event comes; -1: none
	calls              []*call       // that were taken in and not answered
	decidesSince       kafka.Elapsed
	flushing           bool                           // an event will flush
	brokerSince        map[kafka.NodeID]kafka.Elapsed // when image began to say of a broker what it says
	heartbeat          kafka.Elapsed                  // when the last one was answered well, 0: never
}

type imageUpdate struct {
	image *metadata.Image
	delta metadata.Delta
}

// start starts a broker. A disk that fails already now leaves the host down.
func (h *host) start() {
	h.starts++
	w := h.w
	p := &process{
		h: h, began: w.now, epoch: kafka.NoBrokerEpoch, image: &metadata.Image{}, lastLeader: kafka.NoNode, nodeDue: -1, memberDue: -1,
		brokerSince: map[kafka.NodeID]kafka.Elapsed{},
	}
	binary.BigEndian.PutUint64(p.incarnation[:], w.rnd.Uint64()|1)
	w.logf("broker %d starts", h.id)
	h.proc = p
	if err := p.open(); err != nil {
		h.end(fmt.Sprintf("cannot start: %v", err), false)
		return
	}
	p.pump()
	p.tell(membership.DiskFull{Full: p.parts.Full()})
	p.tell(membership.Ready{})
	p.loops()
}

func (p *process) open() error {
	h, w := p.h, p.h.w
	var err error
	if p.dir, err = seglog.OpenDirectory(h.disk, dataDir); err != nil {
		return err
	}
	p.fetchers = replication.NewSet(replication.Options{Self: h.id}, p.beginFetching)
	p.parts = partition.New(partition.Options{
		FS: h.disk, Directory: p.dir, Files: seglog.NewFilePool(0), Self: h.id, Rules: w.o.Replica, LagMax: lagMax,
		Settings: topicSettings, Alter: p.alter, OnChange: p.rolesChanged, Observe: observer{p},
	})
	p.parts.Fence()
	p.node, err = quorum.Open(quorum.Options{
		FS: h.disk, Dir: quorumDir, Self: quorum.Voter{Node: h.id, Directory: h.directory}, ClusterID: clusterID, Peers: w.everyone(),
		Limits: quorum.Limits{SnapshotEntries: 40, TrailingEntries: 5},
		Machine: quorum.NewMetadataMachine(quorum.MetadataOptions{
			Controller: metactl.New(metactl.Options{Rules: &w.o.Controller, HasVote: p.hasVote, SessionTimeout: sessionTimeout, SettleTime: w.settleTime}, nil),
			Wall:       h.wall, Rand: rand.NewPCG(w.rnd.Uint64(), 0), OnImage: p.published,
		}),
		Send: func(to kafka.NodeID, m quorum.Message) { w.post(h.id, to, m) }, Jitter: w.rnd.Int64N, Observe: p.observeQuorum,
	}, w.now)
	if err != nil {
		return err
	}
	if err := p.parts.Open(h.wall()); err != nil {
		return err
	}
	previous := kafka.NoBrokerEpoch
	if e, ok := p.dir.CleanShutdown(); ok { // asked when the logs are open: one that is missing speaks against it
		previous = e
	}
	p.previous, p.uncleanStart = previous, previous == kafka.NoBrokerEpoch
	p.member = membership.New(membership.Options{
		Node: h.id, ClusterID: clusterID, Directory: h.directory, Incarnation: p.incarnation, PreviousEpoch: previous,
		Endpoints:         []metadata.Endpoint{{Listener: "SIM", Host: "sim", Port: uint16(9000 + h.id)}},
		HeartbeatInterval: heartbeatInterval, SessionTimeout: sessionTimeout,
	}, w.now)
	return nil
}

// Settings that are shorter than the defaults, so that a run sees more of what they govern.
const (
	lagMax            = 2 * time.Second
	sessionTimeout    = 3 * time.Second
	heartbeatInterval = 500 * time.Millisecond
)

func topicSettings(image *metadata.Image, topic string) config.Topic {
	values := config.Values{}
	for _, s := range image.Config(metadata.TopicConfig(topic)) {
		values[s.Name] = s.Value
	}
	return config.ResolveTopic(config.Layers{Topic: values})
}

func (p *process) hasVote(n kafka.NodeID) bool { return p.node.HasVote(n) }

// pump lets the quorum do its work and sets its timer.
func (p *process) pump() {
	w := p.h.w
	p.node.Process(w.now)
	due := p.node.Deadline()
	if p.nodeDue >= 0 && p.nodeDue <= due {
		return
	}
	p.nodeDue = max(due, w.now)
	w.at(p.nodeDue, func() {
		p.do(func() {
			if p.nodeDue < 0 || p.nodeDue > w.now {
				return // an earlier timer came in between and set another
			}
			p.nodeDue = -1
			p.node.Tick(w.now)
			p.pump()
		})
	})
}

// tell gives the membership an event and carries its effects out.
func (p *process) tell(e membership.Event) {
	w := p.h.w
	for _, effect := range p.member.Step(e, w.now) {
		p.carryOut(effect)
	}
	if p.h.proc != p {
		return
	}
	due := p.member.Deadline()
	if p.memberDue >= 0 && p.memberDue <= due {
		return
	}
	p.memberDue = max(due, w.now)
	w.at(p.memberDue, func() {
		p.do(func() {
			if p.memberDue < 0 || p.memberDue > w.now {
				return
			}
			p.memberDue = -1
			p.tell(membership.Tick{})
		})
	})
}

func (p *process) carryOut(effect membership.Effect) {
	w := p.h.w
	switch e := effect.(type) {
	case membership.SendRegistration:
		e.Request.SetVersion(e.Request.MaxVersion())
		p.ask(e.Request, func(resp kmsg.Response, err error) {
			done := membership.Registered{Ticket: e.Ticket, Err: err}
			if r, ok := resp.(*kmsg.BrokerRegistrationResponse); ok {
				done.Code, done.Epoch = kafka.ErrorCode(r.ErrorCode), kafka.BrokerEpoch(r.BrokerEpoch)
			}
			p.tell(done)
		})
	case membership.SendHeartbeat:
		e.Request.SetVersion(e.Request.MaxVersion())
		p.ask(e.Request, func(resp kmsg.Response, err error) {
			done := membership.HeartbeatDone{Ticket: e.Ticket, Err: err}
			if r, ok := resp.(*kmsg.BrokerHeartbeatResponse); ok {
				done.Code, done.CaughtUp = kafka.ErrorCode(r.ErrorCode), r.IsCaughtUp
				done.Fenced, done.ShouldShutdown = r.IsFenced, r.ShouldShutdown
				if r.ErrorCode == 0 {
					p.heartbeat = w.now
				}
			}
			p.tell(done)
		})
	case membership.EpochChanged:
		p.epoch = e.Epoch
		w.logf("broker %d is registered with epoch %d", p.h.id, e.Epoch)
	case membership.SetServing:
		w.logf("broker %d serves: %v %s", p.h.id, e.Serving, e.Reason)
		if e.Serving {
			p.parts.Unfence()
		} else {
			p.parts.Fence()
		}
	case membership.Left:
		p.left(e.Clean)
	case membership.Rejected:
		p.h.end(fmt.Sprintf("rejected: %s %s", e.Code, e.Reason), false)
	}
}

// left ends a broker that asked to leave.
func (p *process) left(clean bool) {
	epoch := p.epoch
	if epoch == kafka.NoBrokerEpoch {
		epoch = p.previous // never registered: the clean stop before this run is still the last word
	}
	if err := p.parts.Close(epoch, p.h.w.now); err != nil {
		p.h.w.logf("broker %d closes its logs: %v", p.h.id, err)
	} else {
		p.closed = true
	}
	p.node.Resign(p.h.w.now)
	p.node.Process(p.h.w.now)
	p.h.end(fmt.Sprintf("left, clean %v", clean), false)
}

// published takes an image from the quorum; it is followed a little later, as in a server with its own goroutine for it.
func (p *process) published(image *metadata.Image, delta metadata.Delta) {
	w := p.h.w
	w.check.image(w, p.h, image, &delta)
	p.newest = image.Version()
	p.updates = append(p.updates, imageUpdate{image, delta})
	if !p.following {
		p.following = true
		w.after(w.between(0, 3*time.Millisecond), func() { p.do(p.follow) })
	}
}

// follow brings images to the partitions and the membership.
func (p *process) follow() {
	w, h := p.h.w, p.h
	p.following = false
	updates := p.updates
	p.updates = nil
	for _, u := range updates {
		p.image = u.image
		for _, d := range u.delta.Brokers {
			p.brokerSince[d.ID] = w.now
		}
		b := u.image.Broker(h.id)
		switch {
		case p.placed:
			p.parts.Apply(u.image, &u.delta, w.now, h.wall())
		case b != nil && b.Incarnation == p.incarnation:
			p.parts.Start(u.image, w.now, h.wall())
			p.placed, h.unclean = true, false
			clear(h.lost)
		}
		e := membership.ImageApplied{Index: u.image.Version(), Epoch: kafka.NoBrokerEpoch}
		if b != nil {
			e.Epoch, e.Fenced, e.Incarnation = b.Epoch, b.Fenced, b.Incarnation
		}
		p.tell(e)
		if h.proc != p {
			return
		}
	}
	p.flush()
}

// observeQuorum notes facts of the quorum.
func (p *process) observeQuorum(f quorum.Fact) {
	w := p.h.w
	switch f := f.(type) {
	case quorum.LeadingFact:
		w.logf("broker %d decides: %v, term %d", p.h.id, f.Leading, f.Epoch)
		if f.Leading {
			p.decidesSince = w.now
			w.check.leads(w, p.h, f.Epoch)
		}
	case quorum.StalledFact:
		if f.Err == nil { // it heard nobody and decided nothing meanwhile
			p.decidesSince = w.now
		}
	case quorum.LeaderFact:
		if f.Leader != p.lastLeader {
			p.lastLeader = f.Leader
			w.after(0, func() { p.do(func() { p.tell(membership.LeaderChanged{Leader: f.Leader}) }) })
		}
	case quorum.RefusedFact, quorum.MembersFact, quorum.OfflineFact:
		w.logf("broker %d: %T %+v", p.h.id, f, f)
	}
}

// lookForFailure ends the process when its disk failed, as a server does.
func (p *process) lookForFailure() {
	if err := p.node.Err(); err != nil {
		p.h.end(fmt.Sprintf("quorum: %v", err), false)
	} else if err := p.parts.Failure(); err != nil {
		p.h.end(fmt.Sprintf("logs: %v", err), false)
	}
}

// failed tells whether a log is out of service while the process goes on.
func (h *host) failed(tp kafka.TopicPartition) bool {
	return h.proc != nil && slices.ContainsFunc(h.proc.parts.FailedLogs(), func(f *partition.Failure) bool { return f.Partition == tp })
}

// ended closes what connects the process with others.
func (p *process) ended() {
	w := p.h.w
	calls := p.calls
	p.calls = nil
	for _, c := range calls {
		w.after(w.transit(), func() { c.end(nil, errClosed) })
	}
	for _, o := range w.hosts {
		if o != p.h && o.proc != nil && !w.net.cut[link{p.h.id, o.id}] && w.chance(90) {
			q := o.proc
			w.after(w.transit(), func() {
				q.do(func() {
					epoch := kafka.NoBrokerEpoch
					if b := q.image.Broker(p.h.id); b != nil {
						epoch = b.Epoch
					}
					q.node.PeerDown(p.h.id, epoch, w.now)
					q.pump()
				})
			})
		}
	}
}

func (p *process) forget(c *call) {
	for i, o := range p.calls {
		if o == c {
			p.calls = append(p.calls[:i], p.calls[i+1:]...)
			return
		}
	}
}
