package group

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine did into the transcripts; read the diff")

// TestTranscripts plays testdata/*.txt: commands, "----", what the machine answered and appended. Commands are in
// (*script).run. Appends are committed after each command unless "hold" was said. At the end of each file the log is
// replayed into a fresh machine, which must be in the same durable state.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newScript(t)
			var out strings.Builder
			for i, block := range strings.Split(strings.TrimRight(string(data), "\n"), "\n\n") {
				head, want, _ := strings.Cut(block+"\n", "----\n")
				if i > 0 {
					out.WriteString("\n")
				}
				out.WriteString(head)
				if !hasCommand(head) {
					continue
				}
				got := s.block(head)
				out.WriteString("----\n" + got)
				if got != want && !*rewrite {
					t.Errorf("%s\ngot:\n%swant:\n%s", head, got, want)
				}
			}
			s.checkReplay()
			if *rewrite {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func hasCommand(head string) bool {
	for line := range strings.Lines(head) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// script drives one machine.
type script struct {
	t      *testing.T
	config Config
	m      *Machine
	now    Time
	ticket Ticket
	ids    byte // member ids made so far
	hold   bool
	held   []Append
	log    []Record
	out    strings.Builder
}

func newScript(t *testing.T) *script {
	s := &script{t: t, config: DefaultConfig(), now: Time{Wall: 1_000_000}}
	s.m = New(s.config)
	s.m.Activate(s.now)
	return s
}

func (s *script) block(head string) string {
	s.out.Reset()
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			s.run(line)
		}
	}
	return s.out.String()
}

// args are the words of a command: name=value, or a bare word.
type args map[string]string

func (a args) int(name string, def int) int {
	v, ok := a[name]
	if !ok {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		panic(err)
	}
	return n
}

func (a args) list(name string) []string {
	if a[name] == "" {
		return nil
	}
	return strings.Split(a[name], ",")
}

// opt is nil if the word is missing.
func (a args) opt(name string) *string {
	if v, ok := a[name]; ok {
		return &v
	}
	return nil
}

func parseLine(line string) (cmd string, a args) {
	words := strings.Fields(line)
	a = args{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		a[k] = v
	}
	return words[0], a
}

func (s *script) run(line string) {
	cmd, a := parseLine(line)
	s.m.checkInvariants(s.t)
	switch cmd {
	case "join", "sync", "heartbeat", "leave", "commit", "fetch", "describe", "list", "delete", "offset-delete":
		s.ticket++
		if cmd == "join" && a["m"] == "" {
			s.ids++ // whether the request comes to use it or not
		}
		from := Caller{ClientID: a.text("client", "c"), ClientHost: "/10.0.0.1", NewID: kafka.UUID{15: s.ids}}
		s.m.Handle(s.now, s.ticket, buildRequest(cmd, a), from)
	case "config":
		s.config.InitialRebalanceDelay = time.Duration(a.int("delay", int(s.config.InitialRebalanceDelay.Milliseconds()))) * time.Millisecond
		s.config.MaxSize = a.int("max", s.config.MaxSize)
		s.m.Configure(s.config)
	case "tick":
		d, err := time.ParseDuration(strings.Fields(line)[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.advance(d)
	case "stall": // time passes and nobody looks
		d, err := time.ParseDuration(strings.Fields(line)[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.setTime(s.now.Elapsed.Add(d))
		s.m.Tick(s.now)
	case "hold":
		s.hold = true
	case "release":
		s.hold = false
	case "committed":
		s.takeHeld(func(ap Append) { s.settle(ap, kafka.None) })
	case "failed":
		s.takeHeld(func(ap Append) { s.settle(ap, kafka.ErrorCode(a.int("code", 19))) })
	case "timedout":
		s.m.TimedOut(s.now, s.held[0].ID)
	case "expire":
		s.m.Expire(s.now, 1000)
	case "drop":
		s.m.DropOffsets(func(topic string, id kafka.TopicID) bool {
			return topic == a["topic"] && (a["id"] == "" || id == topicID(a["id"]))
		}, 1000)
	case "dump":
		s.out.WriteString(s.short(s.m.Dump()))
	case "reload":
		s.held, s.hold = nil, false
		s.m = New(s.config)
		s.replayInto(s.m)
		s.m.Activate(s.now)
	default:
		s.t.Fatalf("unknown command %q", line)
	}
	s.flush()
	s.m.checkInvariants(s.t)
}

func (a args) text(name, def string) string {
	if v, ok := a[name]; ok {
		return v
	}
	return def
}

// advance moves both clocks, firing each deadline at its time.
func (s *script) advance(d time.Duration) {
	end := s.now.Elapsed.Add(d)
	for {
		at, ok := s.m.NextDeadline()
		if !ok || at > end {
			break
		}
		s.setTime(at)
		s.m.Tick(s.now)
		s.flush()
	}
	s.setTime(end)
	s.m.Tick(s.now)
}

func (s *script) setTime(at kafka.Elapsed) {
	if at > s.now.Elapsed {
		s.now.Wall += kafka.Timestamp(time.Duration(at-s.now.Elapsed) / time.Millisecond)
		s.now.Elapsed = at
	}
}

// flush prints and settles what is ready.
func (s *script) flush() {
	for s.m.HasReady() || !s.hold && len(s.held) > 0 {
		r := s.m.Ready()
		for _, an := range r.Answers {
			fmt.Fprintf(&s.out, "#%d %s\n", an.Ticket, s.short(formatResponse(an.Response)))
		}
		for _, ap := range r.Appends {
			for _, rec := range ap.Records {
				fmt.Fprintf(&s.out, "append %d: %s\n", ap.ID, s.short(formatRecord(rec)))
			}
			s.held = append(s.held, ap)
		}
		for !s.hold && len(s.held) > 0 {
			s.takeHeld(func(ap Append) { s.settle(ap, kafka.None) })
		}
	}
}

func (s *script) takeHeld(do func(Append)) {
	if len(s.held) == 0 {
		s.t.Fatal("no append is held")
	}
	ap := s.held[0]
	s.held = s.held[1:]
	do(ap)
}

func (s *script) settle(ap Append, code kafka.ErrorCode) {
	if code != kafka.None {
		s.m.Failed(s.now, ap.ID, code)
		return
	}
	s.log = append(s.log, ap.Records...)
	s.m.Committed(s.now, ap.ID)
}

func (s *script) replayInto(m *Machine) {
	for _, r := range s.log {
		if err := m.Apply(r); err != nil {
			s.t.Fatalf("replay: %v", err)
		}
	}
}

func (s *script) checkReplay() {
	s.t.Helper()
	m := New(s.config)
	s.replayInto(m)
	if got, want := m.Dump(), s.m.Dump(); got != want {
		s.t.Errorf("replayed state differs\nreplayed:\n%slive:\n%s", got, want)
	}
}

var longID = regexp.MustCompile(`-0{8}-0{4}-0{4}-0{4}-0{10}([0-9a-f]{2})`)

// short makes c-00000000-0000-0000-0000-000000000001 c-1.
func (s *script) short(text string) string {
	return longID.ReplaceAllStringFunc(text, func(m string) string {
		n, err := strconv.ParseUint(m[len(m)-2:], 16, 8)
		if err != nil {
			s.t.Fatal(err)
		}
		return "-" + strconv.Itoa(int(n))
	})
}

var shortID = regexp.MustCompile(`^(.+)-(\d+)$`)

// long is the inverse of short.
func long(id string) string {
	m := shortID.FindStringSubmatch(id)
	if m == nil {
		return id
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s-00000000-0000-0000-0000-0000000000%02x", m[1], n)
}

func topicID(s string) kafka.TopicID {
	var id kafka.TopicID
	copy(id[:], s)
	return id
}

func consumerMetadata(topics []string) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = topics
	return meta.AppendTo(nil)
}
