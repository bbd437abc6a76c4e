// Package crash kills and stops the real brokers of a real cluster under load, on a real disk, and looks for broken
// promises. `make crash` runs it; CLUSTER names the control command (package control), so the same runs against
// Apache Kafka. CRASH_KILLS is the number of kills, 30 by default. Times without acknowledgements are printed; they depend
// on the machine, so they are asserted only with CRASH_MEDIAN (a duration).
//
// The promises to one idempotent producer with acks=all and one reader, K1 to K4, are those of package workload, which
// writes, reads and checks.
//
// And for one who deletes records and topics on a broker that is killed meanwhile:
//
//	K5  nothing comes back whose deletion was answered, and nothing else is gone.
//
// And for one who moves replicas while brokers are killed:
//
//	K6  every move ends where the last word said, with all replicas in sync; K1 to K4 hold meanwhile.
package crash
