package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	neturl "net/url"
	"os"
	"syscall"
	"testing"
)

func TestSilence(t *testing.T) {
	read := func(err error) error { // with the port that a connection had
		return &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 40001}, Addr: &net.TCPAddr{IP: net.IPv4(10, 9, 0, 1), Port: 9094}, Err: err}
	}
	asked := func(err error) error {
		return fmt.Errorf("ask broker: %w", &neturl.Error{Op: "Get", URL: "http://10.9.0.1:9094/readyz", Err: err})
	}
	for _, r := range []struct {
		err  error
		want string
	}{
		{asked(read(os.NewSyscallError("connect", syscall.ECONNREFUSED))), "connection refused"},
		{asked(read(os.NewSyscallError("read", syscall.ECONNRESET))), "connection reset by peer"},
		{asked(read(os.NewSyscallError("connect", syscall.EHOSTUNREACH))), "no route to host"},
		{asked(read(os.ErrDeadlineExceeded)), "no answer in time"},
		{asked(read(os.NewSyscallError("connect", syscall.ETIMEDOUT))), "no answer in time"},
		{asked(context.DeadlineExceeded), "no answer in time"},
		{asked(io.EOF), "the connection was closed"},
		{fmt.Errorf("brokers of cluster at b:9092: %w", &net.DNSError{Name: "b", Err: "no such host", IsNotFound: true}), "name b: no such host"},
		{errors.New("voters of cluster at b:9092: UNSUPPORTED_VERSION"), "voters of cluster at b:9092: UNSUPPORTED_VERSION"},
	} {
		if got := silence(r.err); got != r.want {
			t.Errorf("%v: %q, want %q", r.err, got, r.want)
		}
	}
}
