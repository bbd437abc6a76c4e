package metactl

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// register answers BrokerRegistration (62). LogDirs[0] is the id of the data directory; PreviousBrokerEpoch is the epoch of
// the registration that was stopped cleanly in that directory, -1 after an unclean stop.
//
// A registration starts fenced, whatever was before. What the node held as a replica is settled in the same entry, so
// that no image exists in which a lost log counts:
//
//	same directory, clean stop     nothing is lost; it leaves the ISRs in which others are known to live, since it is fenced
//	same directory, unclean stop   it leaves ISR and ELR everywhere; where it was the last, the partition waits for recovery
//	another directory              the same, and there is nothing left to recover from it
func (t *turn) register(req *kmsg.BrokerRegistrationRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	resp.BrokerEpoch = int64(kafka.NoBrokerEpoch)
	node := kafka.NodeID(req.BrokerID)
	old := t.image.Broker(node)
	if code := t.mayRegister(req, old); code != kafka.None {
		resp.ErrorCode = int16(code)
		return resp
	}
	if old != nil && old.Incarnation == req.IncarnationID {
		// The process asks again: its first request came through and the reply did not.
		resp.BrokerEpoch = int64(old.Epoch)
		t.c.hear(node, old.Epoch, t.now)
		return resp
	}
	b := brokerOf(req, t.image.NextBrokerEpoch())
	t.add(&metadata.RegisterBroker{Broker: b})
	if old != nil {
		rules := t.c.rules
		wiped := rules.NewDirectory && old.Directory != b.Directory
		unclean := rules.UncleanStop && old.Directory == b.Directory && req.PreviousBrokerEpoch != int64(old.Epoch)
		t.each(func(ref partitionRef) *metadata.PartitionChange {
			if !ref.HasReplica(node) {
				return nil
			}
			x := t.change(ref, nil)
			if wiped || unclean {
				x.lose(node, !wiped)
			}
			x.settle()
			return x.done()
		})
	}
	t.c.hear(node, b.Epoch, t.now)
	resp.BrokerEpoch = int64(b.Epoch)
	return resp
}

func (t *turn) mayRegister(req *kmsg.BrokerRegistrationRequest, old *metadata.Broker) kafka.ErrorCode {
	switch {
	case req.ClusterID != t.image.ClusterID():
		return kafka.InconsistentClusterID
	case req.BrokerID < 0 || len(req.LogDirs) != 1 || kafka.UUID(req.LogDirs[0]).IsZero() || kafka.UUID(req.IncarnationID).IsZero():
		return kafka.InvalidRequest
	}
	for _, f := range t.image.Features() {
		if !slices.ContainsFunc(req.Features, func(rf kmsg.BrokerRegistrationRequestFeature) bool {
			return rf.Name == f.Name && rf.MinSupportedVersion <= f.Level && f.Level <= rf.MaxSupportedVersion
		}) {
			return kafka.UnsupportedVersion
		}
	}
	if !t.c.rules.DuplicateBroker {
		return kafka.None
	}
	for b := range t.image.Brokers() {
		if b.ID != kafka.NodeID(req.BrokerID) && b.Directory == kafka.DirectoryID(req.LogDirs[0]) {
			return kafka.DuplicateBrokerRegistration
		}
	}
	if old != nil && old.Incarnation != req.IncarnationID && t.alive(old, kafka.DirectoryID(req.LogDirs[0])) {
		return kafka.DuplicateBrokerRegistration
	}
	return kafka.None
}

// unheardGrace is how long a new leader waits for the first heartbeat of a broker before another process may take its
// place: more than the interval of heartbeats, less than a session.
const unheardGrace = 3 * time.Second

// alive tells whether the process behind a registration lives, as far as one can know: it is not fenced and within its session. A
// process that stops, or that this leader never heard, and whose directory another one has opened is dead: directories are locked. With
// another directory nothing proves that, and the stopping one's records would be given up.
func (t *turn) alive(b *metadata.Broker, opened kafka.DirectoryID) bool {
	if b.Fenced || b.ControlledShutdown && b.Directory == opened {
		return false
	}
	c := t.c.soft.contacts[b.ID]
	if !c.heard {
		return b.Directory != opened && t.now.Sub(c.last) < unheardGrace
	}
	return t.now.Sub(c.last) < t.c.options.SessionTimeout
}

// hear notes a sign of life of a registration.
func (c *Controller) hear(n kafka.NodeID, epoch kafka.BrokerEpoch, now kafka.Elapsed) {
	k := c.soft.contacts[n]
	if k.epoch != epoch {
		k = contact{epoch: epoch}
	}
	k.last, k.heard = now, true
	c.soft.contacts[n] = k
}

func brokerOf(req *kmsg.BrokerRegistrationRequest, epoch kafka.BrokerEpoch) metadata.Broker {
	b := metadata.Broker{
		ID: kafka.NodeID(req.BrokerID), Epoch: epoch,
		Directory: req.LogDirs[0], Incarnation: req.IncarnationID,
		Fenced: true,
	}
	if req.Rack != nil {
		b.Rack = *req.Rack
	}
	for _, l := range req.Listeners {
		b.Endpoints = append(b.Endpoints, metadata.Endpoint{
			Listener: l.Name, Host: l.Host, Port: l.Port, Protocol: metadata.SecurityProtocol(l.SecurityProtocol),
		})
	}
	for _, f := range req.Features {
		b.Features = append(b.Features, metadata.FeatureRange{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	return b
}

// unregister answers UnregisterBroker (64).
func (t *turn) unregister(req *kmsg.UnregisterBrokerRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
	resp.ErrorCode, resp.ErrorMessage = t.tryUnregister(kafka.NodeID(req.BrokerID)).fields()
	return resp
}

func (t *turn) tryUnregister(node kafka.NodeID) *refusal {
	b := t.image.Broker(node)
	if b == nil {
		return refused(kafka.BrokerIDNotRegistered, "Broker ID %d is not currently registered.", node)
	}
	if t.c.options.HasVote(node) {
		return refused(kafka.PolicyViolation, "Broker %d has a vote in the metadata quorum: take the vote away first.", node)
	}
	held, example := 0, ""
	for topic := range t.image.Topics() {
		for n, p := range topic.Partitions() {
			if p.HasReplica(node) {
				if held++; held == 1 {
					example = kafka.TopicPartition{Topic: topic.Name, Partition: n}.String()
				}
			}
		}
	}
	if held > 0 {
		return refused(kafka.PolicyViolation, "Broker %d holds %d replicas, for example of %s: move them away first.", node, held, example)
	}
	t.add(&metadata.UnregisterBroker{ID: node, Epoch: b.Epoch})
	return nil
}
