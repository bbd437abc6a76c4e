package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/peer"
	"github.com/fairlead-io/fairlead/broker/quorum"
)

// probeTimeout bounds the attempt to connect to a broker whose connection was closed.
const probeTimeout = 300 * time.Millisecond

// peers keeps one control connection to each other broker: quorum messages and requests for the controller. Fetchers have
// connections of their own, since a long poll would hold up what is behind it.
type peers struct {
	self     kafka.NodeID
	internal string // name of the listener between brokers
	static   map[kafka.NodeID]string
	images   *images
	// down is told of a broker whose process seems to be gone: its connection was closed and it refuses another. The epoch is
	// that of its registration when the connection ended: a process that comes after is not suspected.
	down func(kafka.NodeID, kafka.BrokerEpoch)
	// hello is what each connection to a broker begins with; who it is not meant for closes the connection. Nil: nothing.
	hello func(to kafka.NodeID) kmsg.Request

	mu      sync.Mutex
	control map[kafka.NodeID]*peer.Client // guarded by mu
	gone    map[kafka.NodeID]bool         // guarded by mu; whose last connection ended and was refused then
	joining map[kafka.NodeID]string       // guarded by mu; addresses of brokers that asked to be taken into the quorum, at most maxJoining
	seen    map[kafka.NodeID]string       // guarded by mu; hosts from which brokers connected last, at most maxSeen
	closed  bool                          // guarded by mu
	probes  sync.WaitGroup
}

// client is the control connection to a broker, nil after close.
func (p *peers) client(n kafka.NodeID) *peer.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	c := p.control[n]
	if c == nil {
		o := p.options(n)
		o.OnDown = func(error) { p.suspect(n) }
		o.OnUp = func() { p.setGone(n, false) }
		c = peer.New(o)
		p.control[n] = c
	}
	return c
}

// greet has the control connection to a broker made, at once when it just showed that it is there: it may be back after a
// time in which attempts became rare, and what the quorum sends it is dropped until there is a connection.
func (p *peers) greet(n kafka.NodeID) {
	if len(p.addresses(n)) == 0 || n == p.self {
		return
	}
	if c := p.client(n); c != nil {
		c.Connect()
	}
}

// options are those of any connection to a broker. Its address is looked up at each attempt, since it may move.
func (p *peers) options(n kafka.NodeID) peer.Options {
	o := peer.Options{
		ClientID: "broker-" + strconv.Itoa(int(p.self)),
		Dial:     func(ctx context.Context) (net.Conn, error) { return p.dial(ctx, n) },
		Jitter:   func() float64 { return 0.5 + rand.Float64()/2 },
	}
	if p.hello != nil {
		o.Hello = func() kmsg.Request { return p.hello(n) }
	}
	return o
}

// dial tries each address that is known. Names are looked up each time. An address that does not answer, or a name that is not
// resolved, takes no more than its share of the time from those behind it.
func (p *peers) dial(ctx context.Context, n kafka.NodeID) (net.Conn, error) {
	err := errors.New("no address of it is known")
	addresses := p.addresses(n)
	for i, address := range addresses {
		var c net.Conn
		if c, err = dialShare(ctx, address, len(addresses)-i); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("dial broker %d: %w", n, err)
}

// dialShare gives an address its share of the time that is left for so many.
func dialShare(ctx context.Context, address string, of int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		share, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(of))
		defer cancel()
		ctx = share
	}
	return peer.DialTCP(address)(ctx)
}

// maxJoining bounds the addresses that are kept of brokers that ask to be taken into the quorum.
const maxJoining = 1000

// note keeps where a broker says that it is that asks to be taken into the quorum: until it is, it cannot register.
func (p *peers) note(n kafka.NodeID, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.joining[n]; address != "" && (known || len(p.joining) < maxJoining) {
		p.joining[n] = address
	}
}

// maxSeen bounds the hosts that are kept of brokers that connected.
const maxSeen = 1000

// see keeps the host from which a broker spoke to us. Its name may give an old address for a while when it has moved.
func (p *peers) see(n kafka.NodeID, from net.Addr) {
	a, ok := from.(*net.TCPAddr)
	if !ok {
		return
	}
	host := a.AddrPort().Addr().Unmap().String()
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, known := p.seen[n]; was != host && (known || len(p.seen) < maxSeen) {
		p.seen[n] = host
	}
}

// addresses are where a broker may listen for other brokers: where the settings say, where it registered, where it said that it is when it
// asked to be taken into the quorum, and last the host from which it spoke to us, with the port of the others. The settings come first,
// since a cluster that was moved to other addresses while it was stopped has no new registrations until its voters have met, and
// behind an old address there may be somebody else.
func (p *peers) addresses(n kafka.NodeID) []string {
	var found []string
	if a, ok := p.static[n]; ok {
		found = append(found, a)
	}
	if b := p.images.Current().Broker(n); b != nil {
		if e, ok := b.Endpoint(p.internal); ok {
			if a := hostPort(e.Host, e.Port); !slices.Contains(found, a) {
				found = append(found, a)
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok := p.joining[n]; ok && !slices.Contains(found, a) {
		found = append(found, a)
	}
	if host, ok := p.seen[n]; ok && len(found) > 0 {
		if _, port, err := net.SplitHostPort(found[0]); err == nil {
			if a := net.JoinHostPort(host, port); !slices.Contains(found, a) {
				found = append(found, a)
			}
		}
	}
	return found
}

// suspect looks whether a broker that closed its connection is gone: a process that ended refuses a new connection at
// once, one that only closed an idle connection accepts it.
func (p *peers) suspect(n kafka.NodeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	epoch := kafka.NoBrokerEpoch
	if b := p.images.Current().Broker(n); b != nil {
		epoch = b.Epoch
	}
	p.probes.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		defer cancel()
		c, err := p.dial(ctx, n)
		if err == nil {
			c.Close()
			return
		}
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) {
			p.setGone(n, true)
			p.down(n, epoch)
		}
	})
}

func (p *peers) setGone(n kafka.NodeID, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if gone {
		p.gone[n] = true
	} else {
		delete(p.gone, n)
	}
}

// countGone counts the brokers of these whose processes are gone, as far as their connections tell.
func (p *peers) countGone(of []quorum.Replica) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, v := range of {
		if p.gone[v.Node] {
			n++
		}
	}
	return n
}

// close ends all connections and waits for their goroutines.
func (p *peers) close() {
	p.mu.Lock()
	p.closed = true
	clients := p.control
	p.control = nil
	p.mu.Unlock()
	for _, c := range clients {
		c.Close()
	}
	p.probes.Wait()
}
