// Package server is one running broker: the only place where the parts are wired together, started and stopped, and where
// their facts become log lines and metrics. It decides nothing; what it reacts to is the cluster's image.
//
// # Order of start, and stop in reverse
//
//  1. the data directory is opened and locked, the sockets are bound: mistakes show at once
//  2. the quorum's node, and the listener between brokers: others may need our vote before we have anything else
//  3. logs are opened (and recovered), while the broker registers
//  4. the image reaches our own registration: partitions take their roles
//  5. the listeners for clients accept; the broker asks to be unfenced
//
// [Server.Run] returns when the broker was told to stop and has let go of everything: leaders were led away first
// (controlled shutdown), then clients were told of the new leaders (see drain) and served to the end, logs closed and marked clean, the quorum left.
//
// # Who runs what
//
//	quorum      one goroutine (package quorum); publishes images
//	follow      one goroutine: each image, in order, to partitions, settings, fetchers, coordinators, membership
//	membership  one goroutine: registration, heartbeats, fencing of ourselves
//	partitions  the loops of package partition: ticks, flushes, checkpoints, retention, compaction
//	fetchers    one goroutine for each broker that leads something we follow (package replication)
//	groups      the loops of package coordinator
//	conn        two goroutines for each connection
package server
