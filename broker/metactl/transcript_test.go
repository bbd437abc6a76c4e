package metactl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

var rewrite = flag.Bool("rewrite", false, "write what the transcripts give into testdata")

// TestTranscripts runs testdata/*.txt: blocks of commands, a line of dashes, and what they print: the reply, and what
// changed in the image.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runTranscript(t, string(content))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(content) {
				t.Errorf("the transcript is now (-rewrite writes it, read the diff):\n%s", got)
			}
		})
	}
}

func runTranscript(t *testing.T, content string) string {
	s := &script{world: newWorld(t, Options{})}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(content), "\n\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		commands, _, _ := strings.Cut(block+"\n", "----\n")
		out.WriteString(commands)
		if onlyComments(commands) {
			continue
		}
		out.WriteString("----\n")
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				out.WriteString(s.run(line))
			}
		}
	}
	s.checkReplay()
	return out.String()
}

func onlyComments(block string) bool {
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// script is a world driven by lines: a verb, plain arguments, and key=value options.
type script struct {
	*world
	args []string
	opts map[string]string
}

func (s *script) run(line string) string {
	fields := strings.Fields(line)
	s.args, s.opts = nil, map[string]string{}
	for _, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, "="); ok {
			s.opts[k] = v
		} else {
			s.args = append(s.args, f)
		}
	}
	verbs := map[string]func() string{
		"new": s.reset, "register": s.register, "heartbeat": s.beat, "unregister": s.unregister, "create": s.createTopic,
		"delete": s.delete, "grow": s.grow, "isr": s.alterISR, "resign": s.resign, "elect": s.elect, "ends": s.ends, "config": s.alterConfig,
		"suspect": s.suspect, "tick": s.pass, "show": s.show, "start": s.startAll, "producer-ids": s.producerIDs,
		"stop-check": s.stopCheck, "move": s.move, "moves": s.moves, "new-leader": s.newLeader,
	}
	verb, ok := verbs[fields[0]]
	if !ok {
		s.t.Fatalf("unknown command %q", line)
	}
	s.delta = metadata.Delta{}
	reply := verb()
	return reply + describeDelta(s.delta)
}

func (s *script) int(key string, otherwise int64) int64 {
	v, ok := s.opts[key]
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) text(key, otherwise string) string {
	if v, ok := s.opts[key]; ok {
		return v
	}
	return otherwise
}

func (s *script) node() int32 {
	n, err := strconv.Atoi(s.args[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return int32(n)
}

func (s *script) has(word string) bool {
	for _, a := range s.args {
		if a == word {
			return true
		}
	}
	return false
}

func (s *script) partition(text string) (*metadata.Topic, int32) {
	name, n := s.names(text)
	topic := s.image().TopicByName(name)
	if topic == nil {
		s.t.Fatalf("no topic %s", text)
	}
	return topic, n
}

// names reads TOPIC-N.
func (s *script) names(text string) (topic string, partition int32) {
	at := strings.LastIndexByte(text, '-')
	return text[:at], lists(text[at+1:])[0][0]
}

// lists reads 0,1/1,2.
func lists(text string) [][]int32 {
	var out [][]int32
	for _, part := range strings.Split(text, "/") {
		list := []int32{}
		for _, f := range strings.Split(part, ",") {
			if n, err := strconv.Atoi(f); err == nil {
				list = append(list, int32(n))
			}
		}
		out = append(out, list)
	}
	return out
}

func codeAndMessage(code int16, message *string) string {
	if message == nil {
		return fmt.Sprintf("%v\n", kafka.ErrorCode(code))
	}
	return fmt.Sprintf("%v: %s\n", kafka.ErrorCode(code), *message)
}

func describeBroker(b *metadata.Broker) string {
	out := fmt.Sprintf("broker %d epoch=%d", b.ID, b.Epoch)
	if b.Rack != "" {
		out += " rack=" + b.Rack
	}
	if b.Fenced {
		out += " fenced"
	}
	if b.ControlledShutdown {
		out += " stopping"
	}
	if b.DiskFull {
		out += " full"
	}
	return out
}

func describeDelta(d metadata.Delta) string {
	var out strings.Builder
	for _, b := range d.Brokers {
		if b.After == nil {
			fmt.Fprintf(&out, "  broker %d gone\n", b.ID)
			continue
		}
		fmt.Fprintf(&out, "  %s\n", describeBroker(b.After))
	}
	for _, p := range d.Partitions {
		fmt.Fprintf(&out, "  %s-%d %s\n", p.Topic, p.Partition, describePartition(p.After))
	}
	for _, c := range d.Configs {
		fmt.Fprintf(&out, "  settings of %q: %v\n", c.Resource.Name, c.After)
	}
	return out.String()
}
