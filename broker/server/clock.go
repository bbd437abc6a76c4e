package server

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// clock is the process's two clocks. Elapsed counts from the process's start.
type clock struct{ origin time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) Elapsed() kafka.Elapsed { return kafka.Elapsed(time.Since(c.origin)) }
func (c clock) Wall() kafka.Timestamp  { return kafka.TimestampOf(time.Now()) }
