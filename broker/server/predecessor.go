package server

import (
	"errors"
	"net"
	"syscall"
	"time"
)

const (
	// predecessorLimit is how long a start waits for what the broker's process before it held: one that was killed gives its lock and its
	// sockets back only when the kernel has taken it apart, which may be after everybody else saw it gone.
	predecessorLimit = 2 * time.Second
	predecessorPause = 20 * time.Millisecond
)

// retryWhile tries again while the error is of this kind, for at most predecessorLimit.
func retryWhile(kind error, try func() error) error {
	end := time.Now().Add(predecessorLimit)
	for {
		err := try()
		if !errors.Is(err, kind) || time.Now().After(end) {
			return err
		}
		time.Sleep(predecessorPause)
	}
}

// listen binds a socket, also one that the predecessor is about to give back.
func listen(address string) (l net.Listener, err error) {
	err = retryWhile(syscall.EADDRINUSE, func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	return l, err
}
