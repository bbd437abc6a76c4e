package handler

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
)

// decide has a real controller decide, whose decisions come true at once.
func (w *world) decide(seed uint64) {
	c := metactl.New(metactl.Options{HasVote: func(kafka.NodeID) bool { return false }}, w.images.Current())
	c.BecomeLeader(w.Elapsed())
	rnd := rand.NewPCG(seed, 1)
	w.controller.answer = func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
		again := kmsg.Key(req.Key()).Request() // as over the wire
		again.SetVersion(req.GetVersion())
		if err := again.ReadFrom(req.AppendTo(nil)); err != nil {
			w.t.Errorf("forwarded: %v", err)
		}
		records, resp := c.Decide(again, w.Elapsed(), w.Wall(), rnd)
		if len(records) > 0 {
			c.Apply(w.images.Current().Version()+1, records)
			w.apply(records...)
		}
		return resp, nil
	}
}

// TestNoCommandHarmsTheController: random commands of clients and of brokers, decided by a real controller on whose image they leave
// their marks. One that broke an invariant of the image would end the process that leads the quorum.
func TestNoCommandHarmsTheController(t *testing.T) {
	commands := []kmsg.Key{
		kmsg.CreateTopics, kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.CreatePartitions, kmsg.ElectLeaders, kmsg.AlterConfigs,
		kmsg.IncrementalAlterConfigs, kmsg.AlterPartitionAssignments, kmsg.ListPartitionReassignments, kmsg.UnregisterBroker,
		kmsg.AlterPartition, kmsg.BrokerRegistration, kmsg.BrokerHeartbeat, kmsg.AllocateProducerIDs,
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	inWorld(t, func(w *world) {
		w.topic("t", on(self), on(self, other), on(other, self), on(other))
		w.topic("u", on(self, other, third))
		w.decide(seed)
		g := &generator{rand.New(rand.NewPCG(seed, 2)), w}
		for range 20 * randomRequests {
			if w.images.Current().NumTopics() < 2 {
				g.restock()
			}
			req := commands[g.IntN(len(commands))].Request()
			req.SetVersion(int16(g.IntN(int(req.MaxVersion()) + 1)))
			if _, served := w.h.table[kmsg.Key(req.Key())]; !served {
				req.SetVersion(req.MaxVersion())
			}
			g.fill(reflect.ValueOf(req).Elem(), 0)
			g.commandAnswered(req)
		}
		t.Logf("image %d: %d topics, %d partitions", w.images.Current().Version(), w.images.Current().NumTopics(), w.images.Current().NumPartitions())
	})
}

// restock creates the topics that the generator knows, and lets the brokers take part again.
func (g *generator) restock() {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(req.MaxVersion())
	for _, name := range []string{"t", "u", "1"} {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(1+g.IntN(4)), int16(1+g.IntN(3))
		req.Topics = append(req.Topics, t)
	}
	for b := range g.w.images.Current().Brokers() {
		beat := kmsg.NewPtrBrokerHeartbeatRequest()
		beat.SetVersion(beat.MaxVersion())
		beat.BrokerID, beat.BrokerEpoch, beat.CurrentMetadataOffset = int32(b.ID), int64(b.Epoch), 1<<40
		g.commandAnswered(beat)
	}
	g.commandAnswered(req)
}

// commandAnswered sends a command as a client does, or, where clients cannot, as a broker.
func (g *generator) commandAnswered(req kmsg.Request) {
	defer func() {
		if p := recover(); p != nil {
			g.w.t.Fatalf("%T version %d: panic: %v\n%+v", req, req.GetVersion(), p, req)
		}
	}()
	resp, err := g.w.controller.answer(g.w.t.Context(), req)
	if err != nil {
		g.w.t.Fatal(err)
	}
	resp.SetVersion(req.GetVersion())
	again := req.ResponseKind()
	if err := again.ReadFrom(resp.AppendTo(nil)); err != nil {
		g.w.t.Fatalf("%T version %d: %v", resp, req.GetVersion(), err)
	}
}
