package metactl

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Recovery of partitions that no eligible replica can lead: an election outside ISR ∪ ELR, marked Recovering. It happens
//
//   - when ISR and ELR are empty, because their last members came back from an unclean stop. There is no better log to wait
//     for: LastKnownELR names those last members, and one of them must have answered. This needs nobody's leave, as in
//     Kafka, or a topic with one replica would not survive the kill of its broker.
//   - when unclean.leader.election.enable allows it, or an administrator asks by ElectLeaders.
//
// The replica with the most complete log leads, by (last epoch, end offset), of all that answered: at once when every
// replica has, else when RecoveryBound has passed since the first answer.
type recovery struct {
	epoch   kafka.LeaderEpoch // of the leaderless partition; ends of another do not count
	first   kafka.Elapsed     // when the first end came
	ends    []replicaEnd
	allowed bool // by an administrator
}

type replicaEnd struct {
	node      kafka.NodeID
	broker    kafka.BrokerEpoch
	lastEpoch kafka.LeaderEpoch
	end       kafka.Offset
}

// logEnds answers LogEndsRequest.
func (t *turn) logEnds(req *LogEndsRequest) kmsg.Response {
	b := t.image.Broker(req.BrokerID)
	if b == nil || b.Epoch != req.BrokerEpoch {
		return &LogEndsResponse{ErrorCode: int16(kafka.StaleBrokerEpoch)}
	}
	var batch []metadata.Record
	seen := map[kafka.TopicIDPartition]bool{}
	for _, e := range req.Ends {
		ref, ok := t.find(e.TopicIDPartition)
		if !ok || ref.Leader != kafka.NoNode || ref.LeaderEpoch != e.LeaderEpoch || !ref.HasReplica(req.BrokerID) || seen[e.TopicIDPartition] {
			continue
		}
		seen[e.TopicIDPartition] = true
		t.recovery(ref).take(replicaEnd{req.BrokerID, req.BrokerEpoch, e.LastEpoch, e.EndOffset}, t.now)
		x := t.change(ref, nil)
		x.recover()
		if c := x.done(); c != nil {
			batch = append(batch, c)
		}
	}
	t.add(batch...)
	return &LogEndsResponse{}
}

// recovery is the one of a leaderless partition, new when there is none of its epoch.
func (t *turn) recovery(ref partitionRef) *recovery {
	r := t.c.soft.recoveries[ref.TopicIDPartition]
	if r == nil || r.epoch != ref.LeaderEpoch {
		r = &recovery{epoch: ref.LeaderEpoch}
		t.c.soft.recoveries[ref.TopicIDPartition] = r
	}
	return r
}

func (r *recovery) take(e replicaEnd, now kafka.Elapsed) {
	if len(r.ends) == 0 {
		r.first = now
	}
	r.ends = append(slices.DeleteFunc(r.ends, func(o replicaEnd) bool { return o.node == e.node }), e)
}

// recover elects uncleanly when that is allowed and enough is known. The partition has no leader, and none was found in
// ISR ∪ ELR.
func (x *transition) recover() {
	t, p := x.t, x.after
	r := t.c.soft.recoveries[x.ref.TopicIDPartition]
	if r != nil && r.epoch != x.ref.LeaderEpoch {
		r = nil
	}
	lost := len(p.ISR)+len(p.ELR) == 0 && len(p.LastKnownELR) > 0
	allowed := r != nil && r.allowed || t.uncleanAllowed(x.ref.topic.Name)
	if !lost && !allowed {
		return
	}
	mustAnswer := p.Replicas
	if !allowed {
		mustAnswer = p.LastKnownELR
	}
	if len(p.Replicas) == 1 || !t.c.rules.MostCompleteLog {
		if i := slices.IndexFunc(mustAnswer, x.may); i >= 0 {
			x.electUnclean(mustAnswer[i])
		}
		return
	}
	if r == nil {
		return
	}
	valid := filterEnds(r.ends, func(e replicaEnd) bool {
		b := t.image.Broker(e.node)
		return x.may(e.node) && b.Epoch == e.broker && p.HasReplica(e.node)
	})
	authoritative := slices.ContainsFunc(valid, func(e replicaEnd) bool { return slices.Contains(mustAnswer, e.node) })
	complete := len(valid) == len(p.Replicas)
	valid = withoutOutsiders(valid, p.LastKnownELR)
	if !authoritative || !complete && t.now.Sub(r.first) < t.c.options.RecoveryBound {
		return
	}
	x.electUnclean(mostComplete(p.Replicas, valid))
}

// mostComplete is the replica whose log is the most complete: the last epoch decides, then the end; the first in the list
// of replicas of several that are equal.
func mostComplete(replicas []kafka.NodeID, ends []replicaEnd) kafka.NodeID {
	best := slices.MaxFunc(ends, func(a, b replicaEnd) int {
		return cmp.Or(
			cmp.Compare(a.lastEpoch, b.lastEpoch), cmp.Compare(a.end, b.end),
			cmp.Compare(slices.Index(replicas, b.node), slices.Index(replicas, a.node)))
	})
	return best.node
}

// withoutOutsiders drops ends of an epoch that no last known member has any record of. They are of a former leader that went on without
// the others, who elected another; as long as that one wrote nothing, its epoch shows in no log, and the outsider would win by
// its own.
func withoutOutsiders(ends []replicaEnd, known []kafka.NodeID) []replicaEnd {
	last, any := kafka.NoLeaderEpoch, false
	for _, e := range ends {
		if slices.Contains(known, e.node) {
			last, any = max(last, e.lastEpoch), true
		}
	}
	if !any {
		return ends
	}
	return filterEnds(ends, func(e replicaEnd) bool { return e.lastEpoch <= last })
}

func filterEnds(ends []replicaEnd, keep func(replicaEnd) bool) []replicaEnd {
	var out []replicaEnd
	for _, e := range ends {
		if keep(e) {
			out = append(out, e)
		}
	}
	return out
}

const uncleanSetting = "unclean.leader.election.enable"

// uncleanAllowed tells whether the user allows unclean elections of a topic.
func (t *turn) uncleanAllowed(topic string) bool {
	if v, ok := t.image.Config(metadata.TopicConfig(topic)).Get(uncleanSetting); ok {
		return v == "true"
	}
	if v, ok := t.image.Config(metadata.DefaultBrokerConfig).Get(uncleanSetting); ok {
		return v == "true"
	}
	return t.c.options.Static[uncleanSetting] == "true"
}
