package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// silence says in a clause why a broker gave no answer, for people. Nothing in it differs from one attempt to the next, as the port of a
// connection does: what differs would be written to the status at each look.
func silence(err error) string {
	var timeout net.Error
	var name *net.DNSError
	var system syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &name):
		return fmt.Sprintf("name %s: %s", name.Name, name.Err)
	case errors.As(err, &system):
		return system.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	}
	return err.Error()
}
