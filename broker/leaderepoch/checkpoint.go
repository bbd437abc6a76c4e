package leaderepoch

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// ErrCorrupt is the kind of every error of [ParseCheckpoint]. The caller adds the file's name, and assigns the epochs of
// the log's batches again instead.
var ErrCorrupt = errors.New("corrupt leader epoch checkpoint")

// AppendCheckpoint appends the text of the file leader-epoch-checkpoint: the line 0 (version), a line with the number of
// entries, and a line "epoch start" for each.
func (h *History) AppendCheckpoint(dst []byte) []byte {
	dst = append(dst, "0\n"...)
	dst = strconv.AppendInt(dst, int64(len(h.entries)), 10)
	dst = append(dst, '\n')
	for _, e := range h.entries {
		dst = strconv.AppendInt(dst, int64(e.Epoch), 10)
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, int64(e.Start), 10)
		dst = append(dst, '\n')
	}
	return dst
}

// ParseCheckpoint reads that text. It refuses what breaks the invariants, a wrong number of lines, and any other version.
func ParseCheckpoint(text []byte) (History, error) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(lines) < 2 || string(lines[0]) != "0" {
		return History{}, fmt.Errorf("%w: line 1: want version 0 and a second line", ErrCorrupt)
	}
	count, err := strconv.Atoi(string(lines[1]))
	if err != nil || count != len(lines)-2 {
		return History{}, fmt.Errorf("%w: line 2: %q entries are announced, %d lines follow", ErrCorrupt, lines[1], len(lines)-2)
	}
	var h History
	if count > 0 {
		h.entries = make([]Entry, 0, count) // bounded by the lines that are there
	}
	for i, line := range lines[2:] {
		first, second, _ := bytes.Cut(line, []byte(" "))
		epoch, err1 := strconv.ParseInt(string(first), 10, 32)
		start, err2 := strconv.ParseInt(string(second), 10, 64)
		e := Entry{Epoch: kafka.LeaderEpoch(epoch), Start: kafka.Offset(start)}
		if err1 != nil || err2 != nil || epoch < 0 || start < 0 {
			return History{}, fmt.Errorf("%w: line %d: %q is not an epoch and a start offset", ErrCorrupt, i+3, line)
		}
		if last, ok := h.Latest(); ok && (e.Epoch <= last.Epoch || e.Start <= last.Start) {
			return History{}, fmt.Errorf("%w: line %d: epoch %d at %d after epoch %d at %d", ErrCorrupt, i+3, e.Epoch, e.Start, last.Epoch, last.Start)
		}
		h.entries = append(h.entries, e)
	}
	return h, nil
}
