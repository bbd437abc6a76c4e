package record

import (
	"errors"
	"fmt"
	"io"
)

// ErrCorrupt is the kind of every error that means: these bytes are not what was written. Test with errors.Is; the
// caller adds file and position.
var ErrCorrupt = errors.New("corrupt record batch")

// ErrMagic is the kind, beside ErrCorrupt, of a batch in another format than 2.
var ErrMagic = errors.New("unsupported magic")

// ErrTooLarge is the kind, beside ErrCorrupt, of records that decompress to more than the caller's limit.
var ErrTooLarge = errors.New("decompressed records exceed the limit")

var (
	errRecord = errors.New("malformed record")

	errEmpty = io.EOF
	errCut   = fmt.Errorf("record batch ends early: %w", io.ErrUnexpectedEOF)
)

// CorruptError tells which field is impossible and where it is.
type CorruptError struct {
	Field string // what was being read
	Value int64  // what it was, where it is a number
	At    int    // byte position in the batch; of records that were compressed, in the decompressed records
	Err   error  // cause, may be nil
}

func (e *CorruptError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%v: %s at byte %d: %v", ErrCorrupt, e.Field, e.At, e.Err)
	}
	return fmt.Sprintf("%v: %s %d at byte %d", ErrCorrupt, e.Field, e.Value, e.At)
}

// Is makes every CorruptError an [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

func (e *CorruptError) Unwrap() error { return e.Err }

func errMagic(m byte) error {
	return &CorruptError{Field: "magic", Value: int64(int8(m)), At: atMagic, Err: ErrMagic}
}
