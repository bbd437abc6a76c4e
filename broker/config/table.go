package config

import "sort"

// table is rows in ascending order of names.
type table struct{ rows []Def }

func newTable(parts ...[]Def) table {
	var rows []Def
	for _, p := range parts {
		rows = append(rows, p...)
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Name < rows[j].Name })
	return table{rows}
}

func (t table) find(name string) *Def {
	i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].Name >= name })
	if i < len(t.rows) && t.rows[i].Name == name {
		return &t.rows[i]
	}
	return nil
}

var (
	topicTable  = newTable(topicRows)
	brokerTable = newTable(listenerRows, connectionRows, securityRows, logRows, replicaRows, quorumRows, createRows,
		groupRows, groupProtocolRows, transactionRows, remoteRows, otherRows, ownRows)
)
