// Package dev runs a cluster of brokers on one machine, without Kubernetes: `fairlead dev` and its verbs.
//
// [Write] lays a directory out, the only place that knows how:
//
//	DIR/cluster.properties          cluster id, number of brokers, first port
//	DIR/dev.lock                    held by a running [Run]
//	DIR/broker-ID/broker.properties settings, written anew by each Write
//	DIR/broker-ID/log               standard error of the broker
//	DIR/broker-ID/pid               while the broker runs
//	DIR/broker-ID/stopped           present: stopped by hand, not to be restarted
//	DIR/broker-ID/data/             the broker's data directory; begun once by [Options.Format]
//
// Broker i listens on 127.0.0.1:PORT+i for clients and on PORT+1000+i for other brokers.
//
// [Run] is `fairlead dev` itself: it starts the brokers as child processes, reports and restarts the ones that die, and
// stops all when its context ends. Children die with it, however it dies. [Stop] and [Start] take one broker
// out and in from another process: they write and remove the file stopped, which Run looks at.
//
// A cluster's quorum begins when its directory is new, and only then: cluster.properties is written after every data
// directory was begun. A data directory that is missing later is begun empty, as a broker that joins.
package dev
