package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func resolveNetwork(r resolver) (Network, error) {
	n := Network{
		AdminAddr:              r.text("fairlead.admin.address"),
		MaxRequestBytes:        int32(r.int("socket.request.max.bytes")),
		MaxConnections:         int32(r.int("max.connections")),
		MaxConnectionsByIP:     int32(r.int("max.connections.per.ip")),
		MaxInflightBytes:       r.int("queued.max.request.bytes"),
		MaxQueuedRequests:      int32(r.int("queued.max.requests")),
		IdleTimeout:            millis(r.int("connections.max.idle.ms")),
		Backlog:                int32(r.int("socket.listen.backlog.size")),
		SendBufferBytes:        int32(r.int("socket.send.buffer.bytes")),
		ReceiveBufferBytes:     int32(r.int("socket.receive.buffer.bytes")),
		FetchMaxBytes:          int32(r.int("fetch.max.bytes")),
		FetchSessionSlots:      int32(r.int("max.incremental.fetch.session.cache.slots")),
		MaxDescribedPartitions: int32(r.int("max.request.partition.size.limit")),
	}
	protocols, err := protocolMap(r.text("listener.security.protocol.map"))
	if err != nil {
		return n, err
	}
	if n.Listeners, err = listeners("listeners", r.list("listeners"), protocols); err != nil {
		return n, err
	}
	controllers := map[string]bool{}
	for _, name := range r.list("controller.listener.names") {
		controllers[name] = true
	}
	var clients []Listener
	for _, l := range n.Listeners {
		if !controllers[l.Name] {
			clients = append(clients, l)
		}
	}
	n.Advertised = clients
	if advertised := r.list("advertised.listeners"); len(advertised) > 0 {
		if n.Advertised, err = listeners("advertised.listeners", advertised, protocols); err != nil {
			return n, err
		}
	}
	n.Internal, err = internalListener(r, n.Listeners)
	return n, err
}

// internalListener names the listener for talk between brokers: the controllers' when there is one.
func internalListener(r resolver, all []Listener) (string, error) {
	name := r.text("inter.broker.listener.name")
	if names := r.list("controller.listener.names"); len(names) > 0 {
		name = names[0]
	}
	if name == "" && len(all) > 0 {
		name = all[0].Name
	}
	for _, l := range all {
		if l.Name == name {
			return name, nil
		}
	}
	return "", fmt.Errorf("read listeners: the brokers' own listener %q is not among them", name)
}

func protocolMap(text string) (map[string]string, error) {
	m := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, protocol, ok := strings.Cut(strings.TrimSpace(pair), ":")
		switch protocol {
		case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("read listener.security.protocol.map: %q is not NAME:PROTOCOL", pair)
		}
		m[strings.ToUpper(name)] = protocol
	}
	return m, nil
}

// listeners reads NAME://HOST:PORT of each item.
func listeners(setting string, items []string, protocols map[string]string) ([]Listener, error) {
	var out []Listener
	seen := map[string]bool{}
	for _, item := range items {
		name, address, ok := strings.Cut(item, "://")
		name = strings.ToUpper(name)
		host, port, portOK := hostPort(address)
		if !ok || !portOK || name == "" {
			return nil, fmt.Errorf("read %s: %q is not NAME://HOST:PORT", setting, item)
		}
		protocol, known := protocols[name]
		if !known && name == "CONTROLLER" {
			protocol, known = "PLAINTEXT", true
		}
		if !known {
			return nil, fmt.Errorf("read %s: listener %s has no protocol in listener.security.protocol.map", setting, name)
		}
		if seen[name] {
			return nil, fmt.Errorf("read %s: listener %s is there twice", setting, name)
		}
		seen[name] = true
		out = append(out, Listener{Name: name, Protocol: protocol, Host: host, Port: port})
	}
	return out, nil
}

// hostPort reads HOST:PORT, [IPV6]:PORT or :PORT.
func hostPort(s string) (string, uint16, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, false
	}
	port, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil {
		return "", 0, false
	}
	host := s[:i]
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
		if _, err := netip.ParseAddr(host); err != nil {
			return "", 0, false
		}
	} else if strings.ContainsAny(host, ":/ ") {
		return "", 0, false
	}
	return host, uint16(port), true
}

func resolveQuorum(r resolver) (Quorum, error) {
	q := Quorum{
		ElectionTimeout:       millis(r.int("controller.quorum.election.timeout.ms")),
		FetchTimeout:          millis(r.int("controller.quorum.fetch.timeout.ms")),
		SnapshotBytes:         r.int("metadata.log.max.record.bytes.between.snapshots"),
		SnapshotInterval:      millis(r.int("metadata.log.max.snapshot.interval.ms")),
		HeartbeatInterval:     millis(r.int("broker.heartbeat.interval.ms")),
		SessionTimeout:        millis(r.int("broker.session.timeout.ms")),
		RegistrationLimit:     millis(r.int("initial.broker.registration.timeout.ms")),
		ControlledStop:        r.bool("controlled.shutdown.enable"),
		DrainTime:             millis(r.int("fairlead.shutdown.drain.ms")),
		LeaderBalance:         r.bool("auto.leader.rebalance.enable"),
		LeaderBalanceInterval: millis(min(r.int("leader.imbalance.check.interval.seconds"), maxMs/1000) * 1000),
	}
	for _, item := range r.list("controller.quorum.voters") {
		id, address, ok := strings.Cut(item, "@")
		n, err := strconv.ParseInt(id, 10, 32)
		host, port, portOK := hostPort(address)
		if !ok || err != nil || n < 0 || !portOK || host == "" {
			return q, fmt.Errorf("read controller.quorum.voters: %q is not ID@HOST:PORT", item)
		}
		q.Voters = append(q.Voters, Voter{ID: kafka.NodeID(n), Host: host, Port: port})
	}
	return q, nil
}

func resolveLogDir(r resolver) (string, error) {
	dirs := r.list("log.dirs")
	setting := "log.dirs"
	if len(dirs) == 0 {
		dirs, setting = r.list("log.dir"), "log.dir"
	}
	if len(dirs) != 1 {
		return "", fmt.Errorf("read %s: %d directories, want one: a broker keeps all its data in one directory", setting, len(dirs))
	}
	return dirs[0], nil
}
