// Command bench measures Fairlead and Apache Kafka side by side: one run, one machine, one client, the same control
// verbs (package control), one system at a time. `make bench` runs it.
//
//	bench -fairlead CMD [-kafka CMD] [-short] [-only TEXT] [-out DIR] [-cluster-dir DIR]
//
// Megabytes and gigabytes are 10^6 and 10^9 bytes of record values. Broker CPU is user and system time of all broker
// processes, from /proc. Clients run on the same cores, so a throughput is the system's and the client's together, and
// CPU per gigabyte is the figure that says most about the broker. Absolute values shift with the machine; the
// ratios in one run are what may be quoted.
//
// The franz-go producer and consumer are what users have; the raw ones send requests encoded beforehand, on two connections
// with five in flight, and drop the replies after a look at their error code: they come closer to the broker's limit.
package main
