// Package adminapi is what a broker's admin endpoint answers, as JSON: whether the process serves, whether brokers may
// be stopped, what a broker carries, how far work in progress has come. The operator and the command line read it.
//
// It holds types and their rendering as text, no decision: the verdict is computed where the cluster's image is
// (package metactl). Field names are part of the interface between releases: they are added, never renamed.
// Times are milliseconds since the Unix epoch, sizes are bytes.
//
//	GET /healthz             [Health]; 200 while no loop of the process is stuck, otherwise 503: only a new process helps then.
//	                         A broker that recovers, waits or cannot reach the quorum is alive
//	GET /readyz              [Readiness]; 200 when ready, otherwise 503
//	GET /safe-to-stop?ids=1  [Verdict] on stopping these brokers together; asked of any broker, answered by the quorum leader
//	GET /load                [Load] of this broker
package adminapi
