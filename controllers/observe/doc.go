// Package observe gathers what a plan is made from: one [cluster.Snapshot] a pass. It decides nothing.
//
// Sources, and what happens when one does not answer:
//
//	the Cluster, its objects, pods, claims   from the cache, which is complete before the first pass: an error ends the pass
//	nodes, storage classes                   from the API server, when a plan could need them: without permission, unknown
//	each broker's readiness                  from its pod, all in parallel: unknown with the reason
//	verdicts                                 from any broker, of the brokers that the plan would stop next: unknown with the reason
//	settings and metadata                    from Kafka's API, when some broker serves: unknown with the reason
//
// Every question is bounded in time, so a pass is too. Nothing is remembered between two passes. Methods may be called from any
// goroutine; those that a pass starts have ended when it returns.
package observe
