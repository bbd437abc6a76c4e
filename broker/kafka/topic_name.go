package kafka

// MaxTopicNameLength bounds a topic's name, in characters, which are bytes: only ASCII is allowed.
const MaxTopicNameLength = 249

// ValidTopicName tells whether a topic may have this name: 1 to [MaxTopicNameLength] of [a-zA-Z0-9._-], and neither "." nor "..".
func ValidTopicName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > MaxTopicNameLength {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
