// Package brokerclient is the operator's only way to brokers: Kafka's admin API of a cluster, and the admin endpoint of one broker
// over HTTP.
//
// There is one [Client] a cluster, shared by everything that asks for that cluster, and kept in [Clients] until the cluster goes: a
// client per question would leave a connection in TIME_WAIT for each of thousands of topics. [Admin] keeps no state but idle
// connections. All methods may be called from any goroutine. Each of them is bounded in time, by its own limit and by the
// context, and none of them tries again after its limit: the caller looks again at its next turn.
//
// Three kinds of answers are kept apart. An error means that nothing is known: no broker answered. A [Refusal] is what
// a broker said no to, one for each thing that was asked, in Kafka's words. Everything else was done.
//
// The package decides nothing and caches nothing. Interfaces on it are declared where it is used.
package brokerclient
