package conditions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// New is a condition of the table; its time and generation come with [Merge]. A reason that the type does not have is a bug.
func New(k Kind, t Type, r Reason, message string) metav1.Condition {
	row, _, ok := find(k, t, r)
	if !ok {
		panic(fmt.Sprintf("condition %s of a %s has no reason %s", t, k, r))
	}
	return metav1.Condition{Type: string(t), Status: row.Status, Reason: string(r), Message: message}
}

// Add gives the list with another condition. Of two of one type the worse counts, by the table, with the messages of both.
func Add(k Kind, list []metav1.Condition, c metav1.Condition) []metav1.Condition {
	was := Get(list, Type(c.Type))
	if was == nil {
		return append(list, c)
	}
	_, i, _ := find(k, Type(c.Type), Reason(was.Reason))
	_, j, _ := find(k, Type(c.Type), Reason(c.Reason))
	worse, other := *was, c
	if j < i {
		worse, other = c, *was
	}
	if other.Message != "" && other.Message != worse.Message {
		worse.Message = strings.TrimPrefix(worse.Message+"; "+other.Message, "; ")
	}
	*was = worse
	return list
}

// Get finds a condition.
func Get(list []metav1.Condition, t Type) *metav1.Condition {
	for i := range list {
		if list[i].Type == string(t) {
			return &list[i]
		}
	}
	return nil
}

// Is tells whether the condition is there with the reason.
func Is(list []metav1.Condition, t Type, r Reason) bool {
	c := Get(list, t)
	return c != nil && c.Reason == string(r)
}

// Merge is what a status has after the conditions old were found to be now: one of each type, Ready first and the others in the order of
// their names, for this generation. The time of transition of a condition stays unless its status changes. Types that the kind's table has and that are not
// in now are gone, those of others stay.
func Merge(k Kind, old, now []metav1.Condition, generation int64, at time.Time) []metav1.Condition {
	var merged []metav1.Condition
	for _, c := range now {
		c.ObservedGeneration = generation
		c.LastTransitionTime = metav1.NewTime(at.Truncate(time.Second))
		if was := Get(old, Type(c.Type)); was != nil && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		c.Message = clip(c.Message)
		merged = append(merged, c)
	}
	for _, c := range old {
		if !ours(k, c.Type) {
			merged = append(merged, c)
		}
	}
	slices.SortFunc(merged, func(a, b metav1.Condition) int { return strings.Compare(place(a), place(b)) })
	return merged
}

// place sorts conditions as people read them.
func place(c metav1.Condition) string {
	if c.Type == string(Ready) {
		return ""
	}
	return c.Type
}

func ours(k Kind, t string) bool {
	return slices.ContainsFunc(rowsOf(k), func(r Row) bool { return string(r.Type) == t })
}

// maxMessage is what the API takes of a message, in bytes.
const maxMessage = 32768

// clip keeps a message within what the API takes.
func clip(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	const end = "..."
	return strings.ToValidUTF8(s[:maxMessage-len(end)], "") + end
}
