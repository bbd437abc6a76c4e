package peer

import (
	"context"
	"net"
	"time"
)

// deadAfter is how long data may stay unacknowledged by the other end's system before a connection counts as dead. It is
// below the session timeout, so that after a network partition heals connections are made anew, rather than resumed
// whenever TCP's retransmission timer, which may have grown to minutes, next fires.
const deadAfter = 6 * time.Second

// DialTCP gives a Dial for an address, with keep-alive probes and a bound on unacknowledged data.
func DialTCP(address string) func(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{
		Control: setUserTimeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: deadAfter / 2, Interval: deadAfter / 6, Count: 3,
		},
	}
	return func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }
}
