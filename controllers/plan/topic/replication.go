package topic

import (
	"fmt"

	"github.com/fairlead-io/fairlead/controllers/conditions"
)

// impossible tells which part of the spec cannot be had: a reason and a message, or nothing.
func impossible(s Snapshot, found *Found) (reason conditions.Reason, message string) {
	if n, have := s.Topic.Spec.Partitions, len(found.Partitions); n != nil && int(*n) < have {
		return conditions.CannotShrink, fmt.Sprintf(
			"the topic has %d partitions and spec.partitions is %d: partitions cannot be taken away; nothing of the spec is applied until it is at least %d", have, *n, have)
	}
	brokers, known := s.Brokers.Get()
	if n := s.Topic.Spec.ReplicationFactor; n != nil && known && int(*n) > len(brokers) && unlike(found, int(*n)) > 0 {
		return conditions.NotEnoughBrokers, fmt.Sprintf(
			"spec.replicationFactor is %d and the cluster has %s: nothing of the spec is applied until it has enough, or the number is lower", *n, count(len(brokers), "broker"))
	}
	return "", ""
}

// unlike counts the partitions that have, or are on their way to, another number of replicas.
func unlike(found *Found, want int) int {
	n := 0
	for _, p := range found.Partitions {
		if len(p.target()) != want {
			n++
		}
	}
	return n
}

// planReplication plans for a topic that is as the spec says but perhaps for its replicas.
func planReplication(s Snapshot, r *report, found *Found) Plan {
	n := s.Topic.Spec.ReplicationFactor
	if n == nil {
		r.replicated()
		r.serves()
		return Plan{LookAgain: Steady}
	}
	want, unfinished := int(*n), 0
	for _, p := range found.Partitions {
		// One that moves to other brokers, as many as before, is none of ours.
		if len(p.target()) != want || len(p.Replicas)-len(p.Adding) != want {
			unfinished++
		}
	}
	if unfinished == 0 {
		r.replicated()
		r.serves()
		return Plan{LookAgain: Steady}
	}
	r.set(conditions.Replicated, conditions.Moving,
		"%d of %d partitions have %s", len(found.Partitions)-unfinished, len(found.Partitions), count(want, "replica"))
	p := Plan{LookAgain: Busy}
	brokers, known := s.Brokers.Get()
	inService := 0
	for _, b := range brokers {
		if !b.Fenced {
			inService++
		}
	}
	switch {
	case !known || inService < want:
		r.ready(conditions.Moving, "spec.replicationFactor is %d: the change waits until as many brokers are in service", want)
		p.LookAgain = Retry
	default:
		r.ready(conditions.Moving, "the partitions are being given %s", count(want, "replica"))
		if next := refactor(found.Partitions, want, brokers); len(next) > 0 {
			p.Actions = []Action{Reassign{Name(s.Topic), next}}
			p.LookAgain, p.Begun = soon(s), true
		}
	}
	return p
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
