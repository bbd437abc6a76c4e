package config

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"reflect"
)

func TestDefaultTopic(t *testing.T) {
	got := ResolveTopic(Layers{})
	want := Topic{
		Delete: true, Compression: CompressionProducer, GzipLevel: -1, LZ4Level: 9, ZstdLevel: 3,
		MaxMessageBytes: 1048588, MaxDecompressedMessageBytes: 2147483639,
		TimestampType: CreateTime, TimestampBeforeMaxMs: math.MaxInt64, TimestampAfterMaxMs: 3600000,
		SegmentBytes: 1 << 30, SegmentMs: 604800000, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64, FileDeleteDelayMs: 60000,
		RetentionMs: 604800000, RetentionBytes: -1,
		DeleteRetentionMs: 86400000, MaxCompactionLagMs: math.MaxInt64, MinCleanableDirtyRatio: 0.5, MinInsyncReplicas: 1,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTopicLayersDecideInOrder(t *testing.T) {
	retention := func(l Layers) int64 { return ResolveTopic(l).RetentionMs }
	for _, r := range []struct {
		what string
		l    Layers
		want int64
	}{
		{"topic before all", Layers{Topic: Values{"retention.ms": "1"}, Broker: Values{"log.retention.ms": "2"}}, 1},
		{"broker before all brokers", Layers{Broker: Values{"log.retention.ms": "2"}, Default: Values{"log.retention.ms": "3"}}, 2},
		{"all brokers before the file", Layers{Default: Values{"log.retention.ms": "3"}, Static: Values{"log.retention.ms": "4"}}, 3},
		{"milliseconds before minutes", Layers{Static: Values{"log.retention.ms": "4", "log.retention.minutes": "5"}}, 4},
		{"minutes before hours", Layers{Static: Values{"log.retention.minutes": "5", "log.retention.hours": "6"}}, 5 * 60_000},
		{"hours before the table", Layers{Static: Values{"log.retention.hours": "6"}}, 6 * 3_600_000},
		{"the table", Layers{}, 604800000},
		{"-1 hours is no bound", Layers{Static: Values{"log.retention.hours": "-1"}}, -1},
		{"a value of another release is passed over", Layers{Topic: Values{"retention.ms": "never"}, Static: Values{"log.retention.ms": "4"}}, 4},
	} {
		if got := retention(r.l); got != r.want {
			t.Errorf("%s: %d, want %d", r.what, got, r.want)
		}
	}
	if got := ResolveTopic(Layers{Static: Values{"log.roll.hours": "2147483647"}}).SegmentMs; got != 2147483647*3_600_000 {
		t.Errorf("the largest number of hours is %d ms", got)
	}
	if got := ResolveTopic(Layers{Topic: Values{"internal.segment.bytes": "500"}}).SegmentBytes; got != 500 {
		t.Errorf("internal segment size is %d, want 500", got)
	}
	if got := ResolveTopic(Layers{Topic: Values{"cleanup.policy": ""}}); got.Delete || got.Compact {
		t.Errorf("no cleanup policy gives delete=%v compact=%v", got.Delete, got.Compact)
	}
}

const file = `# one broker
node.id=2
listeners=PLAINTEXT://127.0.0.1:9094,CONTROLLER://127.0.0.1:10094
advertised.listeners=PLAINTEXT://example.com:9094
controller.listener.names=CONTROLLER
controller.quorum.voters=0@127.0.0.1:10092,1@127.0.0.1:10093,2@[::1]:10094
log.dirs=/data
broker.rack=a
log.preallocate=true
some.plugin.secret=x
`

func TestParseFile(t *testing.T) {
	_, b, notices, err := ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	listener := func(name, host string, port uint16) Listener {
		return Listener{Name: name, Protocol: "PLAINTEXT", Host: host, Port: port}
	}
	if want, got := any([]Listener{listener("PLAINTEXT", "127.0.0.1", 9094), listener("CONTROLLER", "127.0.0.1", 10094)}), any(b.Network.Listeners); !reflect.DeepEqual(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
	if want, got := any([]Listener{listener("PLAINTEXT", "example.com", 9094)}), any(b.Network.Advertised); !reflect.DeepEqual(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
	if want, got := any([]Voter{{0, "127.0.0.1", 10092}, {1, "127.0.0.1", 10093}, {2, "::1", 10094}}), any(b.Quorum.Voters); !reflect.DeepEqual(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
	if b.NodeID != 2 || b.LogDir != "/data" || b.Rack != "a" || b.Network.Internal != "CONTROLLER" {
		t.Errorf("%+v", b)
	}
	if b.Quorum.SessionTimeout != 9*time.Second || b.Group.InitialRebalanceDelay != 3*time.Second || b.Replica.LagTimeMax != 30*time.Second {
		t.Errorf("times are not Kafka's defaults: %+v", b)
	}
	if b.Log.FlushSchedulerInterval != time.Duration(math.MaxInt64/1_000_000)*time.Millisecond {
		t.Errorf("a time beyond Go's durations is %v", b.Log.FlushSchedulerInterval)
	}
	var names []string
	for _, n := range notices {
		names = append(names, n.Name)
	}
	if want, got := any([]string{"log.preallocate", "some.plugin.secret"}), any(names); !reflect.DeepEqual(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseFileRefuses(t *testing.T) {
	for change, want := range map[string]string{
		"node.id=":                                "Invalid value  for configuration node.id: Not a number of type INT",
		"node.id=-1":                              "Invalid value -1 for configuration node.id: Value must be at least 0",
		"log.dirs=/a,/b":                          "read log.dirs: 2 directories, want one: a broker keeps all its data in one directory",
		"listeners=PLAINTEXT//:1":                 `read listeners: "PLAINTEXT//:1" is not NAME://HOST:PORT`,
		"listeners=PLAINTEXT://:99999":            `read listeners: "PLAINTEXT://:99999" is not NAME://HOST:PORT`,
		"listeners=X://:1":                        "read listeners: listener X has no protocol in listener.security.protocol.map",
		"listeners=PLAINTEXT://:1,PLAINTEXT://:2": "read listeners: listener PLAINTEXT is there twice",
		"listeners=PLAINTEXT://:1":                `read listeners: the brokers' own listener "CONTROLLER" is not among them`,
		"listener.security.protocol.map=X:Y":      `read listener.security.protocol.map: "X:Y" is not NAME:PROTOCOL`,
		"controller.quorum.voters=0:127.0.0.1:1":  `read controller.quorum.voters: "0:127.0.0.1:1" is not ID@HOST:PORT`,
		"offsets.topic.compression.codec=5":       "read offsets.topic.compression.codec: 5 is no codec, want 0 to 4",
		`bad=\u12`:                                `read properties: line 11: "\\u12" ends in a short \u escape`,
	} {
		if _, _, _, err := ParseFile(file + change); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
	if _, _, _, err := ParseFile("log.dirs=/a"); err == nil || !strings.Contains(err.Error(), "node.id") {
		t.Errorf("without node.id: %v", err)
	}
}

func TestProperties(t *testing.T) {
	for text, want := range map[string]Values{
		"a=1\nb = 2\nc:3\nd 4\n e\t5": {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"},
		"# x\n! y\n\na=1#2":           {"a": "1#2"},
		"a=1\\\n  2":                  {"a": "12"},
		`a\=b=c\\d`:                   {"a=b": `c\d`},
		`a=\u0041\t\n`:                {"a": "A\t\n"},
		"a=1\na=2":                    {"a": "2"},
		"a=\nb":                       {"a": "", "b": ""},
		"a=1\r\nb=2\r\n":              {"a": "1", "b": "2"},
		"a=x y = z":                   {"a": "x y = z"},
		`a=ends in a backslash \`:     {"a": "ends in a backslash "},
	} {
		got, err := ParseProperties(text)
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%q: %v %q", text, err, got)
		}
	}
}

// What FormatProperties writes, ParseProperties reads.
func TestPropertiesRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	const letters = "ab=:#! \\\t\n\r\fü"
	word := func(least int) string {
		var b strings.Builder
		for range least + rnd.IntN(8) {
			b.WriteRune([]rune(letters)[rnd.IntN(len([]rune(letters)))])
		}
		return b.String()
	}
	for range 5000 {
		want := Values{}
		for range rnd.IntN(4) {
			want[word(1)] = word(0)
		}
		got, err := ParseProperties(FormatProperties(want))
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: %v got %q want %q", seed, err, got, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add(file)
	f.Add("node.id=1\\\n0\nlisteners=A://[::1]:1")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseProperties(text)
		if err != nil {
			return
		}
		_, _, _ = ParseBroker(v)
		DescribeBroker(Layers{Static: v})
		ResolveTopic(Layers{Topic: v, Static: v})
		again, err := ParseProperties(FormatProperties(v))
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("written and read again: %v %q", err, again)
		}
	})
}
