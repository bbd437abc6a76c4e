package seglog

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// partitionMetadata is Kafka's file that says whose folder it is: two lines, no newline at the end.
const partitionMetadata = "partition.metadata"

const maxSmallFile = 64 << 10

func appendTopicID(dst []byte, id kafka.TopicID) []byte {
	return append(append(dst, "version: 0\ntopic_id: "...), id.String()...)
}

// ReadTopicID reads the partition.metadata of a partition's folder. Errors are fs.ErrNotExist and ErrCorrupt among others.
func ReadTopicID(fsys vfs.FS, dir string) (kafka.TopicID, error) {
	name := path.Join(dir, partitionMetadata)
	data, err := vfs.ReadFile(fsys, name, maxSmallFile)
	if errors.Is(err, vfs.ErrTooLong) {
		return kafka.TopicID{}, &CorruptError{File: name, What: "partition metadata", Err: err}
	}
	if err != nil {
		return kafka.TopicID{}, err
	}
	id, err := parseTopicID(string(data))
	if err != nil {
		return kafka.TopicID{}, &CorruptError{File: name, What: "partition metadata", Err: err}
	}
	return id, nil
}

func parseTopicID(text string) (kafka.TopicID, error) {
	version, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.TrimSpace(version) != "version: 0" {
		return kafka.TopicID{}, fmt.Errorf("first line is %.40q", version)
	}
	value, ok := strings.CutPrefix(strings.TrimSpace(rest), "topic_id: ")
	if !ok {
		return kafka.TopicID{}, errors.New("no topic id")
	}
	id, err := kafka.ParseUUID(strings.TrimSpace(value))
	return kafka.TopicID(id), err
}
