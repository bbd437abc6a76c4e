package fetchsession

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts' results anew")

// A transcript is blocks of commands, a line of four dashes, what they print, and an empty line. Commands:
//
//	cache slots=N                       a new cache; session ids are 1, 2, ...
//	topics NAME=ID ...                  the image from now on
//	log NAME:P [hw=N] [start=N] [bytes=N] [code=N] [diverging] [preferred]   what reads of a partition give from now on
//	wait DURATION                       time passes
//	fetch [v=N] [session=N] [epoch=N] [follower] [abandon|open] [TOPIC:P@OFFSET ...] [-TOPIC:P ...]   a fetch; -: forgotten
//	finish                              of the fetch that was left open
//	stats
//
// TOPIC is a name before version 13, an id of one digit from then on.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("transcript differs; run with -rewrite and read the diff. Got:\n%s", got)
			}
		})
	}
}

func replay(text string) string {
	w := &world{image: image{}, logs: map[string]Result{}}
	w.command("cache", []string{"slots=1000"})
	var out strings.Builder
	inResult := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case inResult && line == "":
			inResult = false
			out.WriteString("\n")
		case inResult: // printed anew
		case line == "----":
			inResult = true
			out.WriteString("----\n" + w.out.String())
			w.out.Reset()
		default:
			out.WriteString(line + "\n")
			if f := strings.Fields(line); len(f) > 0 && f[0] != "#" {
				w.command(f[0], f[1:])
			}
		}
	}
	return out.String()
}

type world struct {
	cache *Cache
	image image
	logs  map[string]Result // by name:partition
	now   kafka.Elapsed
	open  *Fetch
	out   strings.Builder
}

// image is topics by name.
type image map[string]kafka.TopicID

var imageVersion uint64

func (i image) Version() uint64 { return imageVersion }
func (i image) TopicID(name string) (kafka.TopicID, bool) {
	id, ok := i[name]
	return id, ok
}
func (i image) TopicName(id kafka.TopicID) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(i)) {
		if i[name] == id {
			return name, true
		}
	}
	return "", false
}

// cut splits key=value; a number, or the word itself with -1.
func cut(arg string) (string, int64) {
	k, v, ok := strings.Cut(arg, "=")
	if !ok {
		return arg, -1
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		panic(arg)
	}
	return k, n
}

func topicID(digit string) kafka.TopicID { return kafka.TopicID{15: digit[0]} }

func (w *world) command(name string, args []string) {
	switch name {
	case "cache":
		_, slots := cut(args[0])
		var last uint32
		w.cache = NewCache(Options{Slots: int(slots), NewID: func() uint32 { last++; return last }})
	case "topics":
		w.image = image{}
		imageVersion++
		for _, a := range args {
			name, id, _ := strings.Cut(a, "=")
			w.image[name] = topicID(id)
		}
	case "log":
		var r Result
		for _, a := range args[1:] {
			switch k, v := cut(a); k {
			case "hw":
				r.HighWatermark = kafka.Offset(v)
			case "start":
				r.LogStart = kafka.Offset(v)
			case "bytes":
				r.RecordBytes = int(v)
			case "code":
				r.Code = kafka.ErrorCode(v)
			case "diverging":
				r.Diverging = true
			case "preferred":
				r.Preferred = true
			}
		}
		w.logs[args[0]] = r
	case "wait":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			panic(err)
		}
		w.now = w.now.Add(d)
	case "fetch":
		w.fetch(args)
	case "finish":
		w.finish(w.open)
	case "stats":
		fmt.Fprintf(&w.out, "%+v\n", w.cache.Stats())
	default:
		panic("command " + name)
	}
}

func (w *world) fetch(args []string) {
	req := kmsg.NewPtrFetchRequest()
	req.Version = 12
	end := w.finish
	for _, a := range args {
		switch k, v := cut(a); {
		case k == "v":
			req.Version = int16(v)
		case k == "session":
			req.SessionID = int32(v)
		case k == "epoch":
			req.SessionEpoch = int32(v)
		case k == "follower":
			req.ReplicaState.ID = 3
		case k == "abandon":
			end = w.cache.Abandon
		case k == "open":
			end = func(f *Fetch) { w.open = f }
		default:
			w.partition(req, a)
		}
	}
	f, code := w.cache.Open(req, w.image, w.now)
	if code != kafka.None {
		fmt.Fprintf(&w.out, "refused: %v\n", code)
		return
	}
	end(f)
}

func (w *world) partition(req *kmsg.FetchRequest, a string) {
	forget := strings.HasPrefix(a, "-")
	topic, rest, _ := strings.Cut(strings.TrimPrefix(a, "-"), ":")
	number, offset, _ := strings.Cut(rest, "@")
	n, _ := strconv.Atoi(number)
	off, _ := strconv.ParseInt(offset, 10, 64)
	var id kafka.TopicID
	if req.Version >= 13 {
		id, topic = topicID(topic), ""
	}
	if forget {
		t := kmsg.NewFetchRequestForgottenTopic()
		t.Topic, t.TopicID, t.Partitions = topic, id, []int32{int32(n)}
		req.ForgottenTopics = append(req.ForgottenTopics, t)
		return
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset = int32(n), off
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic, id, []kmsg.FetchRequestTopicPartition{p}
	req.Topics = append(req.Topics, t)
}

// finish reads all partitions and prints which are in the response.
func (w *world) finish(f *Fetch) {
	var lines []string
	for p := range f.All() {
		name := fmt.Sprintf("%s:%d", p.Topic, p.Partition)
		r := w.logs[name]
		if p.Code != kafka.None {
			r = Result{Code: p.Code}
		}
		line := fmt.Sprintf("  %s@%d", name, p.FetchOffset)
		if f.Include(p, r) {
			line += fmt.Sprintf(" %v hw=%d start=%d bytes=%d", r.Code, r.HighWatermark, r.LogStart, r.RecordBytes)
		} else {
			line += " no news"
		}
		lines = append(lines, line)
	}
	kind := "full"
	if f.Incremental() {
		kind = "incremental"
	}
	fmt.Fprintf(&w.out, "%s, %d partitions, session %d\n", kind, f.Len(), w.cache.Finish(f, w.now))
	for _, l := range lines {
		fmt.Fprintln(&w.out, l)
	}
}
