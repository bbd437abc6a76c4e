package seglog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Checkpoint is one of a directory's files of offsets of all its partitions, in Kafka's format: the line 0 (version), the
// number of entries, then a line "topic partition offset" for each.
type Checkpoint string

// The checkpoints.
const (
	RecoveryPoints Checkpoint = "recovery-point-offset-checkpoint"
	HighWatermarks Checkpoint = "replication-offset-checkpoint"
	LogStarts      Checkpoint = "log-start-offset-checkpoint"
)

const maxCheckpointBytes = 256 << 20

// ReadCheckpoint reads a checkpoint; a missing one is empty. One that is damaged is a CorruptError: for RecoveryPoints and
// LogStarts it may be taken as empty, which costs a scan.
func (d *Directory) ReadCheckpoint(c Checkpoint) (map[kafka.TopicPartition]kafka.Offset, error) {
	name := path.Join(d.dir, string(c))
	data, err := vfs.ReadFile(d.fs, name, maxCheckpointBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return map[kafka.TopicPartition]kafka.Offset{}, nil
	}
	if err != nil {
		return nil, err
	}
	offsets, line, err := parseCheckpoint(data)
	if err != nil {
		return nil, &CorruptError{File: name, What: fmt.Sprintf("checkpoint line %d", line), Err: err}
	}
	return offsets, nil
}

// WriteCheckpoint replaces a checkpoint; it is durable on return.
func (d *Directory) WriteCheckpoint(c Checkpoint, offsets map[kafka.TopicPartition]kafka.Offset) error {
	return d.write(string(c), appendCheckpoint(nil, offsets))
}

func appendCheckpoint(dst []byte, offsets map[kafka.TopicPartition]kafka.Offset) []byte {
	keys := slices.SortedFunc(maps.Keys(offsets), func(a, b kafka.TopicPartition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	dst = fmt.Appendf(dst, "0\n%d\n", len(keys))
	for _, tp := range keys {
		dst = append(append(dst, tp.Topic...), ' ')
		dst = append(strconv.AppendInt(dst, int64(tp.Partition), 10), ' ')
		dst = append(strconv.AppendInt(dst, int64(offsets[tp]), 10), '\n')
	}
	return dst
}

func parseCheckpoint(data []byte) (offsets map[kafka.TopicPartition]kafka.Offset, line int, err error) {
	lines := bytes.Split(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\n'})
	if string(bytes.TrimSpace(lines[0])) != "0" {
		return nil, 1, fmt.Errorf("version %.20q", lines[0])
	}
	if len(lines) < 2 {
		return nil, 2, errors.New("no number of entries")
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(lines[1])))
	if err != nil {
		return nil, 2, err
	}
	if n != len(lines)-2 {
		return nil, 2, fmt.Errorf("%d entries announced, %d lines", n, len(lines)-2)
	}
	offsets = make(map[kafka.TopicPartition]kafka.Offset, n)
	for i, l := range lines[2:] {
		fields := strings.Fields(string(l))
		if len(fields) != 3 {
			return nil, i + 3, fmt.Errorf("%d fields", len(fields))
		}
		partition, err := strconv.ParseInt(fields[1], 10, 32)
		if err != nil {
			return nil, i + 3, err
		}
		offset, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return nil, i + 3, err
		}
		offsets[kafka.TopicPartition{Topic: fields[0], Partition: int32(partition)}] = kafka.Offset(offset)
	}
	return offsets, 0, nil
}
