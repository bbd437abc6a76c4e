package seglog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// MetaProperties is who a directory is.
type MetaProperties struct {
	ClusterID   string
	NodeID      kafka.NodeID
	DirectoryID kafka.DirectoryID
}

// appendTo appends Kafka's version 1 of the file.
func (m MetaProperties) appendTo(dst []byte) []byte {
	return fmt.Appendf(dst, "cluster.id=%s\ndirectory.id=%s\nnode.id=%d\nversion=1\n", m.ClusterID, m.DirectoryID, m.NodeID)
}

// parseMeta reads a Java properties file as Kafka writes it: lines key=value, comments after #. Version 0 has broker.id.
func parseMeta(text string) (MetaProperties, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return MetaProperties{}, fmt.Errorf("line %.40q has no value", line)
		}
		values[strings.TrimSpace(key)] = strings.ReplaceAll(strings.TrimSpace(value), `\`, "")
	}
	id, ok := values["node.id"]
	if !ok {
		id, ok = values["broker.id"]
	}
	node, err := strconv.ParseInt(id, 10, 32)
	if !ok || err != nil {
		return MetaProperties{}, fmt.Errorf("node id %.20q", id)
	}
	m := MetaProperties{ClusterID: values["cluster.id"], NodeID: kafka.NodeID(node)}
	if m.ClusterID == "" {
		return m, errors.New("no cluster id")
	}
	if v := values["directory.id"]; v != "" {
		u, err := kafka.ParseUUID(v)
		if err != nil {
			return m, fmt.Errorf("directory id: %w", err)
		}
		m.DirectoryID = kafka.DirectoryID(u)
	}
	return m, nil
}
