// Package balance plans where replicas and leaderships go. Its functions are pure and deterministic: equal input gives
// equal plans. Brokers use it for new partitions and elections; the operator will plan moves and drains with it.
package balance
