package conditions

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Summary is a Cluster's condition Ready: the worst of the others with its message and the reasons of the rest, or message if all is
// well. Where the worst is that clients are not served, the message of the worst cause goes with it: which pod, which disk. It is Unknown if the worst is, since then nothing is known to be wrong.
func Summary(others []metav1.Condition, message string) metav1.Condition {
	var bad []metav1.Condition
	for _, c := range others {
		if row, _, ok := find(Cluster, Type(c.Type), Reason(c.Reason)); ok && !row.good() {
			bad = append(bad, c)
		}
	}
	if len(bad) == 0 {
		return New(Cluster, Ready, AsWanted, message)
	}
	slices.SortStableFunc(bad, func(a, b metav1.Condition) int { return rank(a) - rank(b) })
	worst := bad[0]
	s := metav1.Condition{Type: string(Ready), Status: metav1.ConditionFalse, Reason: worst.Reason, Message: worst.Message}
	if worst.Status == metav1.ConditionUnknown {
		s.Status = metav1.ConditionUnknown
	}
	var also []string
	var cause string
	for _, c := range bad[1:] {
		if worst.Type == string(Available) && isCause(c) && cause == "" && c.Reason != worst.Reason {
			cause = c.Reason
			s.Message += "; " + c.Message
		}
		if c.Reason != worst.Reason && c.Reason != cause && !slices.Contains(also, c.Reason) {
			also = append(also, c.Reason)
		}
	}
	if len(also) > 0 {
		s.Message += " (also " + strings.Join(also, ", ") + ")"
	}
	return s
}

// isCause tells whether the condition says what is wrong underneath.
func isCause(c metav1.Condition) bool {
	return c.Type == string(BrokersReady) || c.Type == string(StorageReady)
}

func rank(c metav1.Condition) int {
	_, i, _ := find(Cluster, Type(c.Type), Reason(c.Reason))
	return i
}
