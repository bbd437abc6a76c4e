package conditions

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Kind is of the object that has the condition.
type Kind string

// The kinds.
const (
	Cluster Kind = "Cluster"
	Topic   Kind = "Topic"
)

// Type is the type of a condition.
type Type string

// The types.
const (
	Ready        Type = "Ready"        // of both
	Available    Type = "Available"    // Cluster
	Replicated   Type = "Replicated"   // of both
	BrokersReady Type = "BrokersReady" // Cluster
	StorageReady Type = "StorageReady" // Cluster
	ConfigValid  Type = "ConfigValid"  // Cluster
	Progressing  Type = "Progressing"  // Cluster
	Paused       Type = "Paused"       // Cluster; there only while it is true
	Adopted      Type = "Adopted"      // Topic; there only while it is true
)

// Row is one reason of one condition.
type Row struct {
	Kind   Kind
	Type   Type
	Reason Reason
	Status metav1.ConditionStatus
	Means  string // one sentence
	Lifts  string // what ends it; empty if nothing has to
}

// good tells whether the row says that all is well.
func (r Row) good() bool { return r.Status == metav1.ConditionTrue && r.Lifts == "" }

// Rows are all, by kind, and the worse of one kind before the better.
func Rows() []Row { return append(append([]Row(nil), clusterRows...), topicRows...) }

// find looks a row up, and where it stands among its kind's.
func find(k Kind, t Type, r Reason) (Row, int, bool) {
	for i, row := range rowsOf(k) {
		if row.Type == t && row.Reason == r {
			return row, i, true
		}
	}
	return Row{}, 0, false
}

func rowsOf(k Kind) []Row {
	if k == Topic {
		return topicRows
	}
	return clusterRows
}
