package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// A move of replicas is a state of the partition, see metadata.Partition:
//
//	          moveTo(target)
//	at rest -----------------> moving, Replicas = target ++ those that go, Adding, Removing
//	   ^  ^                      |  |  ^ '- moveTo(another target): goes on from the original replicas
//	   |  '------ finishMove ----'  '--'    the target reached
//	   '--------- moveBack: the original replicas
//
// A replica that goes leaves Replicas, ISR and ELR in the change that ends the move, or that makes it unwanted. Then the
// leader epoch rises, so that the leader does not count a late fetch of one that is out. Records are safe throughout: the ISR
// only shrinks by these changes, and never to nothing.

// moveTo makes target the wish, from the replicas that were there before any move. What an earlier target added and this one
// does not want goes at once, unless nobody else has the records: then it counts as one of the original replicas.
func (x *transition) moveTo(target []kafka.NodeID) {
	p := x.after
	original := p.Original()
	if !x.canDo(union(target, original)) {
		original = union(original, filter(p.Replicas, x.trusted))
	}
	removing := filter(original, notIn(target))
	x.place(append(slices.Clone(target), removing...), filter(target, notIn(original)), removing)
	x.settle()
}

// moveBack cancels a move; the replicas that the target has too stay in its order, as in Kafka. It tells false, and does nothing, when only added replicas have the records or can lead.
func (x *transition) moveBack() bool {
	original := x.after.Original()
	if !x.canDo(original) {
		return false
	}
	x.place(original, nil, nil)
	x.elect()
	return true
}

// finishMove ends a move that has reached its target: every added replica is in sync, and so is every other one of the target
// whose broker takes writes. A dead or full one that was there before and shall stay does not hold it up, unless the ISR would
// fall below min.insync.replicas without those that go.
func (x *transition) finishMove() {
	p := x.after
	if !p.Moving() {
		return
	}
	target := p.Target()
	isr := ordered(target, p.ISR)
	for _, n := range target {
		if !slices.Contains(isr, n) && (x.t.image.TakesWrites(n) || slices.Contains(p.Adding, n)) {
			return
		}
	}
	if len(isr) < len(p.ISR) && len(isr) < x.t.image.MinISR(x.ref.topic.Name, len(target)) || !slices.ContainsFunc(isr, x.may) {
		return
	}
	x.place(target, nil, nil)
}

// settle takes who is gone out of the ISR, ends a move if it can, takes full disks out of the way and sees to the leader. It is for changes that let nobody into
// the ISR: a leader must have been in ISR or ELR before (P4).
func (x *transition) settle() {
	x.shedGone()
	x.finishMove()
	x.shedFull()
	x.elect()
}

// place sets replicas and move. Who holds no replica any more leaves all sets; an election must follow.
//
// A factor that grows raises the leader epoch too: min.insync.replicas may demand more then, and the leader must have taken that
// from the image before it can ask for a smaller ISR, or its watermark would move where the ELR counts on its standing still.
func (x *transition) place(replicas, adding, removing []kafka.NodeID) {
	p := x.after
	gone, factor := slices.ContainsFunc(p.Replicas, notIn(replicas)), p.Factor()
	p.Replicas, p.Adding, p.Removing = replicas, adding, removing
	if gone || p.Factor() > factor {
		x.raiseEpoch()
	}
	x.setISR(ordered(replicas, p.ISR))
	p.LastKnownELR = filter(p.LastKnownELR, p.HasReplica)
}

// canDo tells whether a partition can do with some of its replicas: one of them has what is committed, as far as any replica
// has, and where somebody leads, one of them could.
func (x *transition) canDo(replicas []kafka.NodeID) bool {
	p := x.after
	trusted := ordered(replicas, filter(p.Replicas, x.trusted))
	if p.Leader != kafka.NoNode {
		return slices.ContainsFunc(trusted, x.may)
	}
	return len(trusted) > 0 || !slices.ContainsFunc(p.Replicas, x.trusted)
}

// trusted tells whether a replica has all that is committed, or is among those of which one is the most complete there is.
func (x *transition) trusted(n kafka.NodeID) bool {
	p := x.after
	if len(p.ISR)+len(p.ELR) == 0 {
		return slices.Contains(p.LastKnownELR, n)
	}
	return p.InISR(n) || p.InELR(n)
}

// finishMoves looks after running moves: what ends one may be a broker that is fenced, or a setting.
func (t *turn) finishMoves() {
	s := &t.c.soft
	var batch []metadata.Record
	s.cursor.moving = s.moving.walk(s.cursor.moving, maxWalkPerTick, func(tp kafka.TopicIDPartition) bool {
		ref, ok := t.find(tp)
		if !ok || !ref.Moving() {
			return true
		}
		x := t.change(ref, nil)
		x.settle()
		if c := x.done(); c != nil {
			batch = append(batch, c)
		}
		return true
	})
	t.add(batch...)
}

// union is a followed by what b has beside it.
func union(a, b []kafka.NodeID) []kafka.NodeID {
	return append(slices.Clone(a), filter(b, notIn(a))...)
}

func notIn(list []kafka.NodeID) func(kafka.NodeID) bool {
	return func(n kafka.NodeID) bool { return !slices.Contains(list, n) }
}
