// Package config is the one table of every broker and topic setting: name, type, default, range, scope, whether
// it may change while the broker runs, and whether it has an effect here. Parsing, validation, IncrementalAlterConfigs,
// DescribeConfigs and the settings page of the documentation all follow from that table.
//
// Names, types, defaults and refusals are Apache Kafka 4.4's. A setting of Kafka's that has no meaning in Fairlead is
// accepted, described and marked [Ignored]: it is never a reason not to start.
//
// Values are kept as the text that the user gave, in [Values]. What a setting amounts to is decided by four layers,
// see [Layers]; the typed results are [Topic] and [Broker].
//
// The package is pure: it reads no file and keeps no state. Its tables are built once and never change. All
// functions may be called from any goroutine. Results list settings by name in ascending order.
package config
