package server

import (
	"net"
	"os"
	"strconv"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// advertised is where others find this broker: as the settings say, and the listener between brokers besides. A missing host is
// this machine's name, port 0 the port that the system gave.
func advertised(n config.Network, bound []conn.Listener) []metadata.Endpoint {
	listeners := append([]config.Listener(nil), n.Advertised...)
	for _, l := range n.Listeners {
		if l.Name == n.Internal && !names(listeners, l.Name) {
			listeners = append(listeners, l)
		}
	}
	var endpoints []metadata.Endpoint
	for _, l := range listeners {
		e := metadata.Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port, Protocol: protocolOf(l.Protocol)}
		if e.Host == "" || e.Host == "0.0.0.0" || e.Host == "::" {
			e.Host, _ = os.Hostname()
		}
		if e.Port == 0 {
			e.Port = boundPort(bound, l.Name)
		}
		endpoints = append(endpoints, e)
	}
	return endpoints
}

func names(listeners []config.Listener, name string) bool {
	for _, l := range listeners {
		if l.Name == name {
			return true
		}
	}
	return false
}

func boundPort(bound []conn.Listener, name string) uint16 {
	for _, l := range bound {
		if a, ok := l.Addr().(*net.TCPAddr); ok && l.Name == name {
			return uint16(a.Port)
		}
	}
	return 0
}

func protocolOf(name string) metadata.SecurityProtocol {
	for _, p := range []metadata.SecurityProtocol{metadata.SSL, metadata.SASLPlaintext, metadata.SASLSSL} {
		if p.String() == name {
			return p
		}
	}
	return metadata.Plaintext
}
