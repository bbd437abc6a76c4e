package server

import (
	"context"
	"net"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// listening is the address of a socket that accepts for as long as the test runs, or, closed, of one that refuses.
func listening(t *testing.T, open bool) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if open {
		t.Cleanup(func() { l.Close() })
	} else {
		l.Close()
	}
	return l.Addr().(*net.TCPAddr)
}

// A cluster whose addresses changed while it was stopped knows only the old ones, and needs the new ones to learn them.
func TestDialTriesTheAddressInTheSettingsFirst(t *testing.T) {
	gone, there := listening(t, false), listening(t, true)
	im := newImages()
	image, _ := (&metadata.Image{}).Apply(1, []metadata.Record{&metadata.RegisterBroker{Broker: metadata.Broker{
		ID: 1, Directory: kafka.DirectoryID{1}, Incarnation: kafka.UUID{1}, Fenced: true,
		Endpoints: []metadata.Endpoint{{Listener: "INTERNAL", Host: "127.0.0.1", Port: uint16(gone.Port)}},
	}}})
	im.publish(image)
	p := &peers{internal: "INTERNAL", images: im, static: map[kafka.NodeID]string{1: there.String()}}
	if got, want := p.addresses(1), []string{there.String(), gone.String()}; !slices.Equal(got, want) {
		t.Errorf("addresses are %v, want %v: those in the settings first", got, want)
	}
	c, err := p.dial(context.Background(), 1)
	if err != nil {
		t.Fatalf("dial with the registered address gone: %v, want the address in the settings to be tried", err)
	}
	defer c.Close()
	if got := c.RemoteAddr().String(); got != there.String() {
		t.Errorf("connected to %s, want %s", got, there)
	}
	if _, err := (&peers{internal: "INTERNAL", images: im}).dial(context.Background(), 2); err == nil {
		t.Error("dial of a broker without any address gave no error")
	}
}

// A broker that is no voter can register only when the quorum has taken it in, and the quorum must reach it for that.
func TestABrokerThatJoinsSaysWhereItIs(t *testing.T) {
	p := &peers{internal: "INTERNAL", images: newImages(), joining: map[kafka.NodeID]string{}}
	p.note(3, "")
	if got := p.addresses(3); len(got) != 0 {
		t.Errorf("addresses %v of a broker that said none", got)
	}
	p.note(3, "a:1")
	p.note(3, "b:2")
	if got := p.addresses(3); !slices.Equal(got, []string{"b:2"}) {
		t.Errorf("addresses %v, want the last", got)
	}
	for n := range kafka.NodeID(2 * maxJoining) {
		p.note(n, "c:3")
	}
	if len(p.joining) != maxJoining {
		t.Errorf("%d addresses are kept, want at most %d", len(p.joining), maxJoining)
	}
}
