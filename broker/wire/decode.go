package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Decode reads body into a request or a response whose version is set. kmsg bounds every claimed length by the bytes
// that are there; a panic of it would be a bug, but one that a stranger's bytes must not turn into the end of the
// broker, so it becomes an error of this one message.
func Decode(into interface{ ReadFrom([]byte) error }, body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decoder panic: %v", p)
		}
	}()
	return into.ReadFrom(body)
}

var (
	_ kmsg.Request  = (*PrivateRequest)(nil)
	_ kmsg.Response = (*PrivateResponse)(nil)
)
