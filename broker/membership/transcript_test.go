package membership

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts anew; read the diff")

// TestTranscripts runs testdata/*.txt: commands, "----", what the machine did. Commands, one a line:
//
//	new [previous=EPOCH]      a machine at time 0
//	at TIME                   time passes up to TIME; every deadline on the way is met
//	ready | shutdown LIMIT | leader N | disk full | disk free | quorum stalled | quorum goes on
//	image INDEX EPOCH fenced|unfenced [mine]
//	registered EPOCH | registered CODE-NAME | registered lost         answers the request in flight
//	beat [fenced] [go] | beat CODE-NAME | beat lost
//	late registered EPOCH     an answer to a request that was given up
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			d := &driver{}
			var out strings.Builder
			for _, block := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
				commands, _, _ := strings.Cut(block, "\n----")
				out.WriteString(commands + "\n----\n")
				for _, line := range strings.Split(commands, "\n") {
					if !strings.HasPrefix(line, "#") {
						out.WriteString(d.run(t, line))
					}
				}
				out.WriteString("\n")
			}
			if *rewrite {
				if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got := out.String(); strings.TrimSpace(got) != strings.TrimSpace(string(b)) {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

type driver struct {
	m      *Machine
	now    kafka.Elapsed
	ticket Ticket // of the last request
}

func (d *driver) run(t *testing.T, line string) string {
	f := strings.Fields(line)
	number := func(i int) int64 {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return n
	}
	duration := func(i int) time.Duration {
		v, err := time.ParseDuration(f[i])
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return v
	}
	switch f[0] {
	case "new":
		previous := int64(-1)
		if len(f) > 1 {
			fmt.Sscanf(f[1], "previous=%d", &previous)
		}
		d.now, d.ticket = 0, 0
		d.m = New(Options{Node: 1, Incarnation: kafka.UUID{7}, PreviousEpoch: kafka.BrokerEpoch(previous)}, 0)
		return d.step(Tick{})
	case "at":
		return d.pass(kafka.Elapsed(duration(1)))
	case "ready":
		return d.step(Ready{})
	case "shutdown":
		return d.step(Shutdown{Limit: duration(1)})
	case "disk":
		return d.step(DiskFull{Full: f[1] == "full"})
	case "quorum":
		return d.step(QuorumStalled{Stalled: f[1] == "stalled"})
	case "leader":
		return d.step(LeaderChanged{Leader: kafka.NodeID(number(1))})
	case "image":
		e := ImageApplied{Index: uint64(number(1)), Epoch: kafka.BrokerEpoch(number(2)), Fenced: f[3] == "fenced"}
		if len(f) > 4 {
			e.Incarnation = kafka.UUID{7}
		}
		return d.step(e)
	case "late":
		return d.step(Registered{Ticket: d.ticket - 1, Epoch: kafka.BrokerEpoch(number(2))})
	case "registered":
		e := Registered{Ticket: d.ticket}
		e.Code, e.Err = outcome(f[1])
		if e.Code == kafka.None && e.Err == nil {
			e.Epoch = kafka.BrokerEpoch(number(1))
		}
		return d.step(e)
	case "beat":
		e := HeartbeatDone{Ticket: d.ticket, CaughtUp: true}
		for _, word := range f[1:] {
			switch word {
			case "fenced":
				e.Fenced = true
			case "go":
				e.ShouldShutdown = true
			default:
				e.Code, e.Err = outcome(word)
			}
		}
		return d.step(e)
	}
	t.Fatalf("unknown command %q", line)
	return ""
}

func outcome(word string) (kafka.ErrorCode, error) {
	if word == "lost" {
		return kafka.None, errors.New("lost")
	}
	for code := kafka.ErrorCode(-1); code < 140; code++ {
		if code.String() == word {
			return code, nil
		}
	}
	return kafka.None, nil
}

// pass lets time pass, meeting every deadline.
func (d *driver) pass(to kafka.Elapsed) string {
	out := ""
	for d.m.Deadline() < to {
		d.now = max(d.now, d.m.Deadline())
		out += d.step(Tick{})
	}
	d.now = to
	return out + d.step(Tick{})
}

func (d *driver) step(e Event) string {
	out := ""
	for _, effect := range d.m.Step(e, d.now) {
		out += fmt.Sprintf("%-7v ", time.Duration(d.now))
		switch e := effect.(type) {
		case SendRegistration:
			d.ticket = e.Ticket
			out += fmt.Sprintf("send %d: register, previous epoch %d", e.Ticket, e.Request.PreviousBrokerEpoch)
		case SendHeartbeat:
			d.ticket = e.Ticket
			out += fmt.Sprintf("send %d: heartbeat of epoch %d at %d", e.Ticket, e.Request.BrokerEpoch, e.Request.CurrentMetadataOffset)
			if e.Request.WantFence {
				out += ", wants fence"
			}
			if e.Request.WantShutdown {
				out += ", wants shutdown"
			}
			if wire.DiskFull(e.Request) {
				out += ", disk full"
			}
		default:
			out += fmt.Sprintf("%T%+v", e, e)
		}
		out += "\n"
	}
	return out
}
