package server

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/peer"
)

// nameServer is one in memory of A records, which the process asks while the test runs.
type nameServer struct {
	mu      sync.Mutex
	records map[string]netip.Addr // guarded by mu; a name without record does not exist
	silent  bool                  // guarded by mu; questions are not answered
	asked   int                   // guarded by mu
}

func useNames(t *testing.T) *nameServer {
	n := &nameServer{records: map[string]netip.Addr{}}
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go n.serve(theirs)
		return ours, nil
	}}
	t.Cleanup(func() { net.DefaultResolver = before })
	return n
}

// serve answers one connection. What is no packet connection is framed as DNS over TCP is.
func (n *nameServer) serve(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 2+512)
	for {
		size, err := c.Read(buf)
		if err != nil || size < 2+12 {
			return
		}
		if answer := n.answer(buf[2:size]); answer != nil {
			_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
		}
	}
}

func (n *nameServer) answer(query []byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if n.silent {
		return nil
	}
	var labels []string
	at := 12
	for query[at] != 0 {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
		at += 1 + int(query[at])
	}
	question := query[12 : at+5]
	kind := binary.BigEndian.Uint16(query[at+1:])
	a, exists := n.records[strings.Join(labels, ".")]
	out := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	switch {
	case !exists:
		out[3] |= 3 // NXDOMAIN
	case kind == 1:
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4)
		ip := a.As4()
		out = append(out, ip[:]...)
	}
	return out
}

func (n *nameServer) set(name, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records[name] = netip.MustParseAddr(address)
}

// accepting listens and gives the connections that come.
func accepting(t *testing.T, address string, came chan<- net.Conn) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came <- c
		}
	}()
	t.Cleanup(func() { l.Close() })
	return l
}

// A broker whose name is not there yet is found when it is, and when its name moves to another address it is followed there.
func TestNamesAreLookedUpAtEachAttempt(t *testing.T) {
	n := useNames(t)
	_, port, _ := net.SplitHostPort(freeAddress(t))
	came := make(chan net.Conn, 100)
	first := accepting(t, "127.0.0.2:"+port, came)
	p := &peers{internal: "INTERNAL", images: newImages(), static: map[kafka.NodeID]string{1: "kafka-1.kafka-brokers.ns.svc:" + port}}
	o := p.options(1)
	o.MaxBackoff = 20 * time.Millisecond
	down := make(chan error, 100)
	o.OnDown = func(err error) { down <- err }
	c := peer.New(o)
	defer c.Close()
	c.Connect()
	eventually(t, "the name is asked for again and again", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.asked > 20
	})
	n.set("kafka-1.kafka-brokers.ns.svc", "127.0.0.2")
	connection := <-came
	if got := connection.LocalAddr().String(); got != first.Addr().String() {
		t.Errorf("connected to %s", got)
	}
	second := accepting(t, "127.0.0.3:"+port, came)
	n.set("kafka-1.kafka-brokers.ns.svc", "127.0.0.3")
	first.Close()
	connection.Close()
	<-down
	connection = <-came
	defer connection.Close()
	if got := connection.LocalAddr().String(); got != second.Addr().String() {
		t.Errorf("connected to %s after the name had moved", got)
	}
}

// A name server that does not answer takes its share of the time, and the host from which the broker spoke is tried behind it.
func TestABrokerIsFoundWhereItSpokeFrom(t *testing.T) {
	n := useNames(t)
	n.silent = true
	_, port, _ := net.SplitHostPort(freeAddress(t))
	came := make(chan net.Conn, 1)
	there := accepting(t, "127.0.0.4:"+port, came)
	p := &peers{internal: "INTERNAL", images: newImages(), static: map[kafka.NodeID]string{1: "kafka-1.kafka-brokers.ns.svc:" + port}, seen: map[kafka.NodeID]string{}}
	p.see(1, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 4), Port: 54321})
	p.see(2, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 4), Port: 54321})
	if got := p.addresses(2); len(got) != 0 {
		t.Errorf("addresses %v of a broker whose port is not known", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	c, err := p.dial(ctx, 1)
	if err != nil {
		t.Fatalf("%v: the name took all of the time", err)
	}
	defer c.Close()
	defer (<-came).Close()
	if got := c.RemoteAddr().String(); got != there.Addr().String() {
		t.Errorf("connected to %s", got)
	}
	for i := range kafka.NodeID(2 * maxSeen) {
		p.see(i, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 5)})
	}
	if len(p.seen) != maxSeen || p.seen[1] != "127.0.0.5" {
		t.Errorf("%d hosts are kept, want at most %d; broker 1 at %s, want the last", len(p.seen), maxSeen, p.seen[1])
	}
}
