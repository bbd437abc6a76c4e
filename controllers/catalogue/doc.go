// Package catalogue is what is known of the topics of clusters, shared by everything that works on topics: one [Cluster] a cluster,
// kept in [Clusters].
//
// Reading. Whoever wants to know of one topic says how old the answer may be ([Cluster.Look]). Questions are put to the brokers one after
// the other; while one is on its way, those that come are gathered for the next. A question is either about the topics that were asked
// for, or, when what is known is old, about all topics of the cluster at once: then the other topics' next looks cost nothing. So thousands
// of topics that nobody changes cost two or three requests every [MaxAge], whatever their number.
//
// Writing. Changes are gathered likewise, by kind, and go in batches: one request for many topics. Each gets its own answer.
//
// Waiting is bounded by [Patience], far less than a request may take: a cluster that does not answer holds nobody up who has other
// clusters to look after. While its last question failed nobody waits for it at all, and it is asked again after [Pause] at the earliest.
// A change that nobody waits for any more is not sent.
//
// What is known is never older than it says, and a failure does not take away what was known before: it is only not fresh. A topic is
// known to be absent from a look that began after the time that was asked for, and from nothing else.
//
// Goroutines: one for the questions of a cluster and one for each kind of change, while there is something to ask. [Clusters] owns
// them, and Drop and Close wait for them. The mutex of each is held for no call.
package catalogue
