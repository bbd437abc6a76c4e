package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// machine is the place of one broker: a data directory on the real file system and addresses. Brokers run on it one after the other.
type machine struct {
	t        *testing.T
	id       kafka.NodeID
	settings config.Values
	*Server                // the broker that runs, or ran last
	end      func() error  // stops it
	founding FormatOptions // what its directory was formatted with
}

// freeAddress is an address of this machine that nobody listens on, outside the range from which the system takes the ports of outgoing
// connections: a broker that is stopped and started again finds it free.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, count, attempts = 10_000, 20_000, 100
	for range attempts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(count)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatalf("no free port in %d attempts", attempts)
	return ""
}

// machines are those of a cluster that nobody has formatted yet.
func machines(t *testing.T, n int, more config.Values) (all []*machine) {
	t.Helper()
	var voters []string
	var founders []quorum.Voter
	for id := range n {
		address := freeAddress(t)
		voters = append(voters, fmt.Sprintf("%d@%s", id, address))
		founders = append(founders, quorum.Voter{Node: kafka.NodeID(id), Directory: NewDirectoryID()})
		settings := config.Values{
			"node.id": fmt.Sprint(id), "log.dirs": filepath.Join(t.TempDir(), "data"), "controller.listener.names": "CONTROLLER",
			"listeners":                        "PLAINTEXT://127.0.0.1:0,CONTROLLER://" + address,
			"broker.heartbeat.interval.ms":     "200",
			"group.initial.rebalance.delay.ms": "0",
			"offsets.topic.num.partitions":     "2",
			"offsets.topic.replication.factor": "1",
		}
		maps.Copy(settings, more)
		all = append(all, &machine{t: t, id: kafka.NodeID(id), settings: settings})
	}
	for _, m := range all {
		m.settings["controller.quorum.voters"] = strings.Join(voters, ",")
		m.founding = FormatOptions{ClusterID: "c", Directory: founders[m.id].Directory, Voters: founders}
	}
	return all
}

// broker is the machine's settings, resolved.
func (m *machine) broker() config.Broker {
	m.t.Helper()
	b, _, err := config.ParseBroker(m.settings)
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

func (m *machine) format() {
	m.t.Helper()
	if err := Format(vfs.OS(), m.broker(), m.founding); err != nil {
		m.t.Fatal(err)
	}
}

// open makes a broker that does not run.
func (m *machine) open() (*Server, error) {
	m.t.Helper()
	return New(Options{Static: m.settings, Broker: m.broker(), Log: logr.Discard()})
}

// start runs a broker, which ends with the test at the latest.
func (m *machine) start() {
	m.t.Helper()
	s, err := m.open()
	if err != nil {
		m.t.Fatal(err)
	}
	m.Server = s
	end := runBroker(m.t, s)
	ended := false
	m.end = func() error {
		if ended {
			return nil
		}
		ended = true
		return end()
	}
	m.t.Cleanup(func() {
		if err := m.end(); err != nil {
			m.t.Errorf("broker %d: %v", m.id, err)
		}
	})
}

func (m *machine) stop() {
	m.t.Helper()
	if err := m.end(); err != nil {
		m.t.Fatalf("broker %d: %v", m.id, err)
	}
}

// serves waits until the broker serves.
func (m *machine) serves() {
	m.t.Helper()
	eventually(m.t, fmt.Sprintf("broker %d serves", m.id), func() bool { return m.readiness().Ready })
}

// address is where clients find it.
func (m *machine) address() string { return m.listeners[0].Addr().String() }

// cluster runs brokers on machines of their own.
func cluster(t *testing.T, n int, more config.Values) []*machine {
	t.Helper()
	all := machines(t, n, more)
	for _, m := range all {
		m.format()
		m.start()
	}
	for _, m := range all {
		m.serves()
	}
	return all
}

// create creates a topic of one partition and waits until this broker knows its part in it.
func (m *machine) create(topic string, replicas int16) {
	m.t.Helper()
	createTopic(m.t, m.Server, topic, replicas)
	eventually(m.t, "the topic is here", func() bool {
		p, _ := m.partitions.Get(kafka.TopicPartition{Topic: topic})
		return p != nil && p.Describe().Leader.ID != kafka.NoNode
	})
}

// client is a franz-go client of the machine's broker.
func (m *machine) client(o ...kgo.Opt) *kgo.Client {
	m.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(m.address()), kgo.MetadataMinAge(50 * time.Millisecond)}, o...)...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(cl.Close)
	return cl
}

// limited is a context for one step of a test.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// put produces values to a topic and waits for the acknowledgements.
func put(t *testing.T, cl *kgo.Client, topic string, values ...string) {
	t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Value: []byte(v)})
	}
	if err := cl.ProduceSync(limited(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// values reads n records of partition 0 of a topic from its beginning.
func (m *machine) values(topic string, n int) (values []string) {
	m.t.Helper()
	cl := m.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}), kgo.FetchMaxWait(100*time.Millisecond))
	defer cl.Close()
	ctx := limited(m.t)
	for len(values) < n {
		fetches := cl.PollFetches(ctx)
		if err := errors.Join(fetches.Err(), ctx.Err()); err != nil {
			m.t.Fatalf("after %d records: %v", len(values), err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

// refused checks an error for a person: one line that has all of the words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range append(words, "start broker") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
}
