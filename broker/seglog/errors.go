package seglog

import (
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// ErrOffsetOutOfRange is the kind of error of a read outside [StartOffset, EndOffset].
var ErrOffsetOutOfRange = errors.New("offset out of range")

// ErrCorrupt is the kind of every CorruptError.
var ErrCorrupt = errors.New("corrupt log")

// ErrOffline is the kind of every OfflineError.
var ErrOffline = errors.New("log directory is offline")

// ErrFailed is the kind of every FailedError.
var ErrFailed = errors.New("log failed")

// ErrClosed is the error of a log that was closed.
var ErrClosed = errors.New("log is closed")

// ErrOutOfOrder is the kind of error of an append whose offsets do not go on where the log ends.
var ErrOutOfOrder = errors.New("append is not at the end of the log")

// RangeError says which offset was asked for and what there is.
type RangeError struct {
	Offset, Start, End kafka.Offset
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("offset %d is out of range [%d, %d]", e.Offset, e.Start, e.End)
}

// Is makes every RangeError an ErrOffsetOutOfRange.
func (e *RangeError) Is(target error) bool { return target == ErrOffsetOutOfRange }

// CorruptError is damage in a stored file.
type CorruptError struct {
	File     string
	Position int64 // bytes from the start of the file
	What     string
	Err      error // cause, may be nil
}

func (e *CorruptError) Error() string {
	s := fmt.Sprintf("%s at byte %d: %s", e.File, e.Position, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes every CorruptError an ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

func (e *CorruptError) Unwrap() error { return e.Err }

// OfflineError says why a directory can no longer be written. The cause is final: it was not tried again.
type OfflineError struct {
	Op  string // what was being done
	Dir string
	Err error
}

func (e *OfflineError) Error() string {
	return fmt.Sprintf("%s: %s: directory is offline: %v", e.Op, e.Dir, e.Err)
}

// Is makes every OfflineError an ErrOffline.
func (e *OfflineError) Is(target error) bool { return target == ErrOffline }

func (e *OfflineError) Unwrap() error { return e.Err }

// FailedError says why one log can no longer be changed, or not be opened, while its directory works: its files are gone, closed
// to this process, or cannot be read.
type FailedError struct {
	Op  string // what was being done
	Dir string // the log's folder
	Err error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%s: %s: log failed: %v", e.Op, e.Dir, e.Err)
}

// Is makes every FailedError an ErrFailed.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

func (e *FailedError) Unwrap() error { return e.Err }
