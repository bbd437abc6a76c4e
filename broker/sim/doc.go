// Package sim runs whole clusters in one goroutine: three to five brokers made of the real machines, logs and metadata quorum on
// files in memory, under one scheduler and one clock. Everything that happens comes from a seed, so a seed is a test, and a failing
// one is reproduced by its number alone.
//
// It is not a mock of anything in package broker/server, but it stands in its place: [process] wires the same parts by direct calls. What it leaves
// out is what servers do with sockets: framing, connections, fetch sessions of consumers, groups.
//
//	World      scheduler, clock, randomness, trace; owns everything else
//	network    delay, loss, reordering, duplication, one-way cuts
//	host       a machine that outlives its processes: disk, wall clock, directory id
//	process    one run of a broker: quorum node, membership, partitions, fetchers
//	producer   idempotent clients that remember what was acknowledged
//	weather    the faults, chosen at random, then healed
//	checker    what must hold after each event, and at the end
//
// Some things hardly ever happen by chance. For these there are scenarios, in the tests: scripts that cut, hold back and kill at the right moment,
// in the same world without weather, under the same checkers. Each rule of replication can be switched off, and then a scenario or
// weather makes a checker notice (TestRulesOff): a rule that nothing would notice means that this package is too weak.
//
// # Time
//
// Nothing runs by chance: an event is a function at a time, and two at one time run in the order in which they were made. A disk charges
// its operations to its host, which takes in nothing until they are paid: that is how a slow disk is slow.
//
// # To add a part of the broker
//
// Give [process] its synchronous core in start, drive it where the real loops do (see process.loops), let its callbacks schedule events instead of
// doing more, and give [checker] the promise that it makes.
package sim
