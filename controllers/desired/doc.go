// Package desired turns the spec of a Cluster into the Kubernetes objects that the operator keeps for it, one file a kind, and tells
// whether a live object is as wanted. It looks at nothing but its arguments, and gives equal objects for equal ones.
//
// What makes brokers restart is one text, [RestartHash]: settings that are read at the start of a process alone, and the spec of the pod.
// Labels, annotations, settings that brokers take while they run, and settings without effect are not in it.
//
//	annotation                     on                 what
//	fairlead.io/spec-hash          every object       hash of the object as it was wanted when it was last applied
//	fairlead.io/restart-hash       pods               what the broker was started with
//	fairlead.io/pod-keys           pods               the labels and annotations that are there by spec.podTemplate
//	fairlead.io/rack               pods               the broker's rack, put on when the pod is on a node
//	fairlead.io/live-settings      the ConfigMap      the settings that are altered in the running brokers, and must be taken back with the spec
//	fairlead.io/quorum             claims             whose data is on the volume, for a Cluster that is made again over kept volumes
//	fairlead.io/quorum-formed      claims             put on when the quorum was seen to be formed: it is never founded again
package desired
