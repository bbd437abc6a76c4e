// Package membership is one broker's side of belonging to the cluster: it registers, sends heartbeats, asks to be unfenced
// when it is ready, stops serving as a leader when it has lost the quorum, and asks to be let go before it stops.
//
// It is not the controller (broker/metactl decides who is fenced) and sends nothing itself: [Machine.Step] takes an event and
// the time and returns effects, in the order in which the caller must carry them out. The caller (broker/server,
// broker/sim) owns the connection to the quorum leader, the clock and the files.
//
//	             registered             image shows us unfenced
//	Registering ------------> Fenced -------------------------> Active
//	     ^                      ^ |                                | |
//	     | stale epoch          | | fenced again, or lost          | | Shutdown
//	     +----------------------+ +<-------------------------------+ v
//	                                                            Leaving ---> Left
//
// # Rules
//
//  1. At most one request is in flight. A reply carries the ticket of its request; a late one, of a request that was given up, is ignored.
//  2. The session is measured from the moment a heartbeat that succeeded was sent, the controller measures from the moment it
//     arrived. So a broker stops serving as a leader no later than the controller may give its partitions to another.
//  3. A broker asks to be unfenced only after [Ready] (its logs are open) and after its image holds its own registration.
//  4. After a stale-epoch answer it registers anew and serves nothing until the new epoch is in its own image.
//  5. The previous broker epoch is sent once: in the first registration of a process that follows a clean stop.
//  6. A broker whose disk is full says so at once and in every heartbeat until it has space again: it stays in service, and the
//     controller gives its leaderships and places in in-sync sets to those that can take writes.
//  7. It stops as soon as the controller lets it go, after the shutdown limit, or when nobody answered for [LonelyLimit]: leaders that it
//     could not hand over move by fencing.
//  8. A registration counts as taken when the image shows it, though its answer is lost; and a broker that is to stop waits for the answer
//     that is under way. A clean stop that is put down under an older epoch would look unclean to the controller.
//  9. A broker whose image stands still, because the quorum's log on its disk takes nothing, goes on for a session timeout, since a
//     lack of space or of file handles may pass. Then it serves nothing and asks to be fenced, until the log goes on: its
//     heartbeats arrive all the while, so nobody else would notice that it follows nothing.
package membership
