package topic

// Reasons of events.
const (
	EventRecreated = "TopicRecreated" // somebody had deleted it
	EventReplaced  = "TopicReplaced"  // somebody had deleted it and made it again
	EventCorrected = "TopicCorrected" // somebody had changed its settings
	EventDeleted   = "TopicDeleted"
	EventLeft      = "TopicLeft" // it is another Topic's
)
