package metactl

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Recovery of partitions that no eligible replica can lead: an election outside ISR ∪ ELR, marked Recovering. It happens
//
//   - when ISR and ELR are empty, because their last members came back from an unclean stop. There is no better log to wait
//     for: LastKnownELR names those last members, and all of them must have answered, since any of them may have lost its end
//     with its power and another not; all were there to register. This needs nobody's leave, as in Kafka, or a topic
//     with one replica would not survive the kill of its broker.
//   - when unclean.leader.election.enable allows it, or an administrator asks by ElectLeaders.
//
// The replica with the most complete log leads, by (last epoch, end offset), of all that answered and whose logs do not part from that of a
// last known member (see withoutOutsiders): at once when every replica has, else when RecoveryBound has passed since the first answer.
type recovery struct {
	epoch   kafka.LeaderEpoch // of the leaderless partition; ends of another do not count
	first   kafka.Elapsed     // when the first end came
	ends    []replicaEnd
	allowed bool // by an administrator
}

type replicaEnd struct {
	node   kafka.NodeID
	broker kafka.BrokerEpoch
	end    kafka.Offset
	epochs []leaderepoch.Entry
}

// last is the epoch of the last record.
func (e replicaEnd) last() kafka.LeaderEpoch {
	if len(e.epochs) == 0 {
		return kafka.NoLeaderEpoch
	}
	return e.epochs[len(e.epochs)-1].Epoch
}

// holdsLastOf tells whether this log has the last record of another. Records of one offset and epoch are the same in every log, and so is
// all before them. Where the history does not go back far enough, it is taken to.
func (e replicaEnd) holdsLastOf(o replicaEnd) bool {
	if len(o.epochs) == 0 {
		return true
	}
	if e.end < o.end {
		return false
	}
	for _, h := range slices.Backward(e.epochs) {
		if h.Start < o.end {
			return h.Epoch == o.last()
		}
	}
	return true
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
		t.recovery(ref).take(replicaEnd{req.BrokerID, req.BrokerEpoch, e.EndOffset, e.Epochs}, t.now)
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
	answered := filter(mustAnswer, func(n kafka.NodeID) bool {
		return slices.ContainsFunc(valid, func(e replicaEnd) bool { return e.node == n })
	})
	authoritative := len(answered) == len(mustAnswer) || allowed && len(answered) > 0
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
			cmp.Compare(a.last(), b.last()), cmp.Compare(a.end, b.end),
			cmp.Compare(slices.Index(replicas, b.node), slices.Index(replicas, a.node)))
	})
	return best.node
}

// withoutOutsiders drops the logs that do not continue those of the last known members. A former leader may have gone on without the others,
// who elected another; as long as that one wrote nothing, its epoch shows in no log, and the outsider would win by its own last
// epoch, though what it has beside the members' logs was never committed. But a member may have lost its end with the power, or all it had: an
// outsider that has its last record has all the member has left, and may have what it lost.
func withoutOutsiders(ends []replicaEnd, known []kafka.NodeID) []replicaEnd {
	members := filterEnds(ends, func(e replicaEnd) bool { return slices.Contains(known, e.node) })
	return filterEnds(ends, func(e replicaEnd) bool {
		return slices.Contains(known, e.node) || !slices.ContainsFunc(members, func(m replicaEnd) bool { return !e.holdsLastOf(m) })
	})
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
