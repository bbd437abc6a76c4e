package conditions

import "strings"

// Markdown is the table of a kind for the documentation.
func Markdown(k Kind) string {
	var b strings.Builder
	b.WriteString("| condition | status | reason | means | what lifts it |\n|---|---|---|---|---|\n")
	for _, r := range rowsOf(k) {
		b.WriteString("| " + string(r.Type) + " | " + string(r.Status) + " | `" + string(r.Reason) + "` | " + r.Means + " | " + r.Lifts + " |\n")
	}
	return b.String()
}
