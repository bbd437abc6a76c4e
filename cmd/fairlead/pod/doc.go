// Package pod is `fairlead pod`: what the container of a broker runs in Kubernetes. It knows nothing of Kubernetes' API; everything comes
// from files and variables that the operator has the kubelet provide.
//
//	DIR/broker.properties    settings, the same for all brokers of a cluster, with references: see package brokerfile
//	DIR/cluster.properties   cluster.id, and while the quorum is being founded initial.voters=BROKER@DIRECTORY,...
//	NODE_ID                  the broker's id, unless the settings have node.id
//
// In order:
//
//  1. settings and cluster are read and checked: what is wrong with them shows at once;
//  2. the admin endpoint answers: alive, not ready;
//  3. files that the settings refer to and that are empty are waited for, as the rack is that is known only when the pod has a node;
//  4. a data directory without identity is formatted. When this broker is among the initial voters it founds the quorum with the others, and
//     its directory gets the id that is given for it. Else the directory gets a new id and joins: a broker whose volume was lost
//     comes back as a new, empty replica, whose predecessor's vote is not its to cast;
//  5. the broker runs until it is told to stop.
//
// A directory has one life as a founder. Whoever writes cluster.properties takes initial.voters out as soon as the quorum has a leader,
// and before a volume may be lost: a voter whose disk was emptied would else vote a second time under its old id.
//
// The reason of a fatal error is left in one line where the kubelet looks for it, see [Options.TerminationLog].
package pod
