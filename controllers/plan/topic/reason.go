package topic

// The types of conditions that a Topic has.
const (
	ConditionReady      = "Ready"      // the topic is as the spec says, and every partition has a leader
	ConditionReplicated = "Replicated" // every replica is in sync, and there are as many as the spec says
	ConditionAdopted    = "Adopted"    // the topic existed before the Topic; absent when it did not
)

// Reasons of Ready.
const (
	ReasonReady               = "Ready"
	ReasonOffline             = "PartitionsOffline"
	ReasonCreating            = "Creating"
	ReasonUpdating            = "Updating"
	ReasonChangingReplication = "ChangingReplication"
	ReasonRetrying            = "Retrying"

	ReasonInvalidName        = "InvalidName"
	ReasonInternalTopic      = "InternalTopic"
	ReasonConflict           = "Conflict"
	ReasonInvalidConfig      = "InvalidConfig"
	ReasonPartitionsLowered  = "PartitionsLowered"
	ReasonReplicationInvalid = "ReplicationImpossible"
	ReasonRefused            = "Refused"

	ReasonClusterMissing     = "ClusterMissing"
	ReasonClusterDeleting    = "ClusterDeleting"
	ReasonClusterPaused      = "ClusterPaused"
	ReasonClusterUnreachable = "ClusterUnreachable"

	ReasonDeleting         = "Deleting"
	ReasonDeletionDisabled = "DeletionDisabled"
)

// Reasons of Replicated.
const (
	ReasonInSync          = "InSync"
	ReasonUnderReplicated = "UnderReplicated"
	ReasonUnknown         = "Unknown"
)

// ReasonTopicExisted is the reason of Adopted.
const ReasonTopicExisted = "TopicExisted"

// Reasons of events.
const (
	EventRecreated = "TopicRecreated" // somebody had deleted it
	EventReplaced  = "TopicReplaced"  // somebody had deleted it and made it again
	EventCorrected = "TopicCorrected" // somebody had changed its settings
	EventDeleted   = "TopicDeleted"
	EventLeft      = "TopicLeft" // it is another Topic's
)
