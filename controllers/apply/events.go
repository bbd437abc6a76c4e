package apply

import "strings"

const (
	// eventAction is the action of all events: events.k8s.io wants one.
	eventAction = "Reconcile"
	// maxNote is how many bytes the API server takes for an event's note.
	maxNote = 1024
)

// shortened is the message in as many bytes as fit into an event.
func shortened(message string) string {
	const more = "..."
	if len(message) <= maxNote {
		return message
	}
	return strings.ToValidUTF8(message[:maxNote-len(more)], "") + more
}
