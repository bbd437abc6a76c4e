package server

import (
	"fmt"
	"net"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/peer"
)

// TestAChangeIsSeenFromEveryBroker: when the answer to a change is there, no broker answers clients by an image from before it.
func TestAChangeIsSeenFromEveryBroker(t *testing.T) {
	servers := startBrokers(t, 3)
	for i := range 60 {
		topic := fmt.Sprintf("t%d", i)
		createTopic(t, servers[i%3], topic, 3)
		for _, s := range servers {
			if s.followed.Current().TopicByName(topic) == nil {
				t.Errorf("broker %d does not know %s, which broker %d has created", s.node, topic, i%3)
			}
		}
	}
}

// TestAChangeDoesNotWaitForTheMute: a broker that counts as being in service, takes connections and answers nothing holds up no answer for ever.
func TestAChangeDoesNotWaitForTheMute(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	image, _ := new(metadata.Image).Apply(1, []metadata.Record{
		&metadata.RegisterBroker{Broker: metadata.Broker{ID: 7, Directory: NewDirectoryID(), Incarnation: NewUUID()}},
	})
	i := newImages()
	i.publish(image)
	p := &peers{
		static: map[kafka.NodeID]string{7: l.Addr().String()}, images: i, control: map[kafka.NodeID]*peer.Client{},
		gone: map[kafka.NodeID]bool{}, joining: map[kafka.NodeID]string{}, down: func(kafka.NodeID, kafka.BrokerEpoch) {},
	}
	t.Cleanup(p.close)
	(&controllerClient{peers: p, images: i}).spread(t.Context(), 1)
	if c := p.client(7); !c.Connected() {
		t.Error("the broker was not asked, or its connection was closed")
	}
}
