package brokerclient

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Refusal is what a broker said no to: Kafka's code and, when the broker gave one, its message.
type Refusal struct {
	Code    kafka.ErrorCode
	Message string
}

// Error is the broker's message with the name of its code.
func (r *Refusal) Error() string {
	name := r.Code.String()
	if r.Message == "" {
		return name
	}
	return name + ": " + r.Message
}

// Transient tells whether the same request may succeed later without anybody changing anything: the controller moves, a broker
// is behind, a request took too long.
func (r *Refusal) Transient() bool {
	return kerr.IsRetriable(kerr.ErrorForCode(int16(r.Code)))
}

// refusal is nil for the code that means success.
func refusal(code int16, message *string) *Refusal {
	if code == 0 {
		return nil
	}
	r := &Refusal{Code: kafka.ErrorCode(code)}
	if message != nil {
		r.Message = *message
	}
	return r
}

// or gives r as an error that is nil when there is no refusal.
func (r *Refusal) or() error {
	if r == nil {
		return nil
	}
	return r
}
