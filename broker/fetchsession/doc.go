// Package fetchsession keeps incremental fetch sessions (KIP-227): what a fetcher is interested in, so that it need not
// repeat it, and what it was told last, so that only news is sent.
//
// It is pure, and knows neither logs nor sockets: it says which partitions to read, in which order, and which results
// belong into the response. Reading them, waiting and encoding is the handler's.
//
// # One fetch
//
//	fetch, code := cache.Open(req, topics, now)     // with the cache's lock
//	for p := range fetch.All() { read p }           // without it, as often as needed while waiting for data
//	for p := range fetch.All() { if fetch.Include(p, result) { put it into the response } }
//	response.SessionID = cache.Finish(fetch, now)   // with the lock
//
// Abandon takes the place of Finish when no response will be sent.
//
// The caller holds one lock around every method of [Cache]. Between Open and Finish the fetch, and the session under
// it, belong to the caller alone: a second request of the same session meanwhile is refused with
// INVALID_FETCH_SESSION_EPOCH. A session that is evicted or closed meanwhile still ends its fetch normally.
//
// # Sessions
//
//	session id, epoch    meaning
//	0, 0                 full fetch; begins a session when there is a place for it
//	n, 0                 full fetch; ends session n and begins another
//	0, -1                full fetch without session; so are all fetches before version 7
//	n, -1                full fetch without session; ends session n
//	n, e > 0             incremental fetch; e must be one more than the last, and 1 follows 2^31-1
//
// Refusals, for the whole response: FETCH_SESSION_ID_NOT_FOUND (unknown, ended or evicted),
// INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR (topics by id in a session by name, or the reverse).
//
// # Order
//
// Without session: the request's. In a session: the order in which partitions were added; one whose records an incremental fetch
// returned moves to the end, so that none starves when a response has no room for all.
//
// # Places
//
// At most [Options.Slots] sessions. A new one may take the place of: one not used for longer than IdleAfter; or, when the new one is a
// follower's, a consumer's; or one that has been there for longer than IdleAfter and is less worth: consumers before followers, then fewer
// partitions before more. Otherwise the fetch is served without session (id 0), and so is one with which all sessions together would have more
// than [Options.MaxPartitions] partitions. A session that grows beyond that ends: FETCH_SESSION_ID_NOT_FOUND.
//
// # Topics that come and go
//
// A session by id keeps the name that the id had. When the id is gone, its partitions answer UNKNOWN_TOPIC_ID, or
// INCONSISTENT_TOPIC_ID when the name has another id now: the topic was recreated. A session by name follows the name.
package fetchsession
