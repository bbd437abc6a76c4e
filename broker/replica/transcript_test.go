package replica

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
)

var rewrite = flag.Bool("rewrite", false, "write what happened into the transcripts")

// TestTranscripts plays testdata/*.txt: a command on a line, "----", and the state and the effects after it. Commands of
// broker 1, arguments as name=value:
//
//	new start end hw min [flushed]  a replica with a log; min is min.insync.replicas; flushed is all unless said
//	assign leader le pe isr [replicas]   an image
//	broker id epoch [fenced]        what the image says of another broker
//	produce to [acks]               append up to an offset, and wait
//	fetch id end [epoch]            a follower's fetch
//	altered ticket [code] [pe isr]  the controller's answer
//	flushed end; flush messages     flush.messages
//	asks                            what a follower would ask its leader for
//	answer end hw [start]           a follower took its leader's answer
//	batch epoch; follows le         may a follower append a batch of an epoch, does an answer of a leader epoch concern it
//	diverged epoch end [hw]; outofrange start
//	history e@start,…               the log's leader epochs
//	wait ms                         time passes, then a tick
//	failed                          the log is out of service
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := play(string(data), AllRules())
			if *rewrite {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(data) {
				t.Errorf("differs, see the diff after go test -rewrite:\n%s", got)
			}
		})
	}
}

// play replaces what follows each "----" by what happens under these rules.
func play(script string, rules Rules) string {
	var out strings.Builder
	c := &script1{rules: rules, brokers: map[kafka.NodeID]BrokerFacts{}}
	lines := strings.Split(script, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line == "" || strings.HasPrefix(line, "#") {
			if i < len(lines)-1 {
				out.WriteString(line + "\n")
			}
			continue
		}
		fmt.Fprintf(&out, "%s\n----\n%s", line, c.do(line))
		for i++; i < len(lines) && lines[i] != ""; i++ {
		}
		out.WriteString("\n")
	}
	return out.String()
}

type script1 struct {
	rules   Rules
	m       *Machine
	h       leaderepoch.History
	now     kafka.Elapsed
	brokers map[kafka.NodeID]BrokerFacts
	ticket  uint64
	limits  Settings
}

type args map[string]string

func (a args) num(name string, byDefault int64) int64 {
	if v, ok := a[name]; ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	return byDefault
}

func (a args) ids(name string) (ids []kafka.NodeID) {
	for _, s := range strings.Split(a[name], ",") {
		if n, err := strconv.Atoi(s); err == nil {
			ids = append(ids, kafka.NodeID(n))
		}
	}
	return ids
}

func (c *script1) do(line string) string {
	words := strings.Fields(line)
	a := args{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		a[k] = v
	}
	note := ""
	switch words[0] {
	case "new":
		c.limits = Settings{MinISR: int(a.num("min", 1)), LagMax: 30 * time.Second, AlterRetry: time.Second}
		c.m = New(1, c.rules, c.limits, Log{
			Start: kafka.Offset(a.num("start", 0)), End: kafka.Offset(a.num("end", 0)), Watermark: kafka.Offset(a.num("hw", 0)),
			Flushed: kafka.Offset(a.num("flushed", a.num("end", 0))),
		})
	case "assign":
		replicas := []kafka.NodeID{1, 2, 3}
		if _, ok := a["replicas"]; ok {
			replicas = a.ids("replicas")
		}
		c.m.StepAssign(Assignment{
			Leader: kafka.NodeID(a.num("leader", -1)), LeaderEpoch: kafka.LeaderEpoch(a.num("le", 0)),
			PartitionEpoch: kafka.PartitionEpoch(a.num("pe", 0)), Replicas: replicas, ISR: a.ids("isr"), Now: c.now,
			Brokers: func(id kafka.NodeID) BrokerFacts {
				if f, ok := c.brokers[id]; ok {
					return f
				}
				return BrokerFacts{Epoch: 10, Alive: true, Eligible: true}
			},
		})
	case "broker":
		_, fenced := a["fenced"]
		id := kafka.NodeID(a.num("id", 0))
		c.brokers[id] = BrokerFacts{Epoch: kafka.BrokerEpoch(a.num("epoch", 10)), Alive: !fenced, Eligible: !fenced}
		c.m.StepBroker(id, c.brokers[id], c.now)
	case "produce":
		all := a["acks"] != "1"
		if code := c.m.Admit(all); code != kafka.None {
			note = "refused " + code.String() + "\n"
			break
		}
		end := kafka.Offset(a.num("to", 0))
		c.m.StepAppended(end, c.now)
		c.ticket++
		c.m.Wait(c.ticket, end, all, c.now.Add(time.Minute))
	case "fetch":
		code := c.m.StepFetched(Fetched{
			Replica: kafka.NodeID(a.num("id", 0)), Epoch: kafka.BrokerEpoch(a.num("epoch", 10)), End: kafka.Offset(a.num("end", 0)), Now: c.now,
		})
		if code != kafka.None {
			note = "refused " + code.String() + "\n"
		}
	case "altered":
		c.m.StepAltered(Altered{
			Ticket: uint64(a.num("ticket", 0)), Code: kafka.ErrorCode(a.num("code", 0)), Leader: c.m.leader, LeaderEpoch: c.m.leaderEpoch,
			PartitionEpoch: kafka.PartitionEpoch(a.num("pe", 0)), ISR: a.ids("isr"), Now: c.now,
		})
	case "flush":
		c.limits.FlushMessages = a.num("messages", 0)
		c.m.StepSettings(c.limits, c.now)
	case "flushed":
		c.m.StepFlushed(kafka.Offset(a.num("end", 0)), c.now)
	case "answer":
		end := kafka.Offset(a.num("end", 0))
		c.m.StepReplicated(Replicated{
			End: end, LeaderStart: kafka.Offset(a.num("start", 0)), LeaderWatermark: kafka.Offset(a.num("hw", 0)), Empty: end == c.m.end,
		})
	case "asks":
		note = "nothing\n"
		if pos, ok := c.m.FetchPosition(&c.h); ok {
			note = fmt.Sprintf("from %d\n", pos.From)
		}
	case "batch":
		note = fmt.Sprintf("accepted %v\n", c.m.AcceptsEpoch(kafka.LeaderEpoch(a.num("epoch", 0))))
	case "follows":
		note = fmt.Sprintf("concerns it %v\n", c.m.Follows(kafka.LeaderEpoch(a.num("le", 0))))
	case "diverged":
		c.m.StepDiverged(Diverged{Asked: c.position(), Epoch: kafka.LeaderEpoch(a.num("epoch", 0)), End: kafka.Offset(a.num("end", 0)), LeaderWatermark: kafka.Offset(a.num("hw", 0))}, &c.h)
	case "outofrange":
		note = fmt.Sprintf("moved %v\n", c.m.StepOutOfRange(OutOfRange{Asked: c.position(), LeaderStart: kafka.Offset(a.num("start", 0))}))
	case "history":
		c.h = leaderepoch.History{}
		for _, e := range strings.Split(words[1], ",") {
			epoch, start, _ := strings.Cut(e, "@")
			x, _ := strconv.Atoi(epoch)
			y, _ := strconv.Atoi(start)
			c.h.Assign(kafka.LeaderEpoch(x), kafka.Offset(y))
		}
	case "failed":
		c.m.StepFailed()
	case "wait":
		c.now = c.now.Add(time.Duration(a.num("ms", 0)) * time.Millisecond)
		c.m.StepTick(c.now)
	default:
		return "unknown command\n"
	}
	return note + c.effects()
}

func (c *script1) position() FetchPosition {
	pos, _ := c.m.FetchPosition(&c.h)
	return pos
}

// effects prints the state and what is to be done.
func (c *script1) effects() string {
	r := c.m.Ready(c.now)
	m := c.m
	var b strings.Builder
	fmt.Fprintf(&b, "%s le=%d pe=%d log [%d, %d) hw=%d", m.role, m.leaderEpoch, m.partitionEpoch, m.start, m.end, m.hw)
	if m.role == Leader {
		fmt.Fprintf(&b, " isr=%v latest known %v", m.isr, m.LatestKnown())
	}
	b.WriteString("\n")
	if r.Truncate != nil {
		fmt.Fprintf(&b, "truncate %+v\n", *r.Truncate)
		c.h.TruncateFromEnd(r.Truncate.To)
	}
	if r.AdvanceStart != kafka.NoOffset {
		fmt.Fprintf(&b, "advance start to %d\n", r.AdvanceStart)
	}
	if r.StartEpoch {
		fmt.Fprintf(&b, "start epoch %d\n", m.leaderEpoch)
	}
	if r.Flush {
		b.WriteString("flush\n")
	}
	if r.Watermark {
		fmt.Fprintf(&b, "publish watermark %d\n", m.hw)
	}
	if r.Alter != nil {
		fmt.Fprintf(&b, "alter #%d le=%d pe=%d isr=%v\n", r.Alter.Ticket, r.Alter.LeaderEpoch, r.Alter.PartitionEpoch, r.Alter.ISR)
	}
	for _, d := range r.Completed {
		fmt.Fprintf(&b, "complete #%d %s\n", d.Ticket, d.Code)
	}
	return b.String()
}
