package handler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/coordinator"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// The cluster of the tests: this broker is self, with two others.
const (
	self  kafka.NodeID = 1
	other kafka.NodeID = 2
	third kafka.NodeID = 3
)

// world is one broker's handler over real partitions on files in memory, in a cluster that the test makes from records. It
// lives in a bubble: its clock is the bubble's, so waiting takes no time.
type world struct {
	t       *testing.T
	began   time.Time
	fs      *vfs.Mem
	dir     *seglog.Directory
	manager *partition.Manager
	groups  *coordinator.Groups
	h       *Handler
	alters  int // ISR changes that were proposed, and never answered

	settings config.Values // the broker's file; changed before requests
	broker   config.Broker // settings, resolved by configure
	images   imageStore
	newest   atomic.Pointer[metadata.Image] // what the quorum published last: the partitions follow it a little later
	// controller answers what is forwarded.
	controller fakeController

	info        *conn.Info
	disconnect  context.CancelFunc // the end of the connection
	correlation int32
}

// inWorld runs a test in a bubble with a world whose three brokers are alive.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		test(w)
	})
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, began: time.Now(), fs: vfs.NewMem(1), settings: config.Values{"node.id": "1", "log.dirs": "data"}}
	w.images.current, w.images.changed = &metadata.Image{}, make(chan struct{})
	w.controller.status = quorum.Status{Leader: other}
	w.configure()
	if err := errors.Join(w.fs.MkdirAll("data"), w.fs.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.dir, err = seglog.OpenDirectory(w.fs, "data"); err != nil {
		t.Fatal(err)
	}
	w.manager = partition.New(partition.Options{
		FS: w.fs, Directory: w.dir, Self: self, Rules: replica.AllRules(), LagMax: 30 * time.Second,
		Settings: func(image *metadata.Image, topic string) config.Topic {
			return config.ResolveTopic(config.Layers{Static: w.settings, Topic: image.Config(metadata.TopicConfig(topic)).Values()})
		},
		Alter: func(*kmsg.AlterPartitionRequest, func(*kmsg.AlterPartitionResponse, error)) { w.alters++ },
	})
	if err := w.manager.Open(w.Wall()); err != nil {
		t.Fatal(err)
	}
	w.groups = coordinator.NewGroups(coordinator.Options{
		Clock: w, Topics: groupTopics{&w.images}, NewID: w.newID, Log: logr.Discard(), Config: coordinator.DefaultConfig(),
	})
	w.h, err = New(Options{
		Node: self, ClusterID: func() string { return "c" }, Images: &w.images, Newest: w.newestImage, Settings: func() *config.Broker { return &w.broker },
		Layers: func() config.Layers {
			return config.Layers{Static: w.settings, Default: w.images.Current().Config(metadata.DefaultBrokerConfig).Values()}
		},
		Partitions: w.manager, Volume: func() (int64, int64) { return 1000, 600 }, Groups: w.groups, Controller: &w.controller, Clock: w, Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.connect()
	w.apply(&metadata.ClusterRecord{ClusterID: "c"})
	for _, n := range []kafka.NodeID{self, other, third} {
		w.apply(&metadata.RegisterBroker{Broker: metadata.Broker{ID: n, Epoch: kafka.BrokerEpoch(n), Rack: fmt.Sprint("rack", n), Endpoints: []metadata.Endpoint{
			{Listener: "PLAINTEXT", Host: fmt.Sprint("host", n), Port: 9000 + uint16(n)}, {Listener: "CONTROLLER", Host: "inside", Port: 9100 + uint16(n)},
		}}})
	}
	w.manager.Start(w.images.Current(), w.Elapsed(), w.Wall())
	return w
}

// connect begins another connection for the requests that follow.
func (w *world) connect() {
	ctx, cancel := context.WithCancel(context.Background())
	w.disconnect = cancel
	w.info = &conn.Info{ID: 1, Listener: "PLAINTEXT", Context: ctx, Remote: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4711}}
}

func (w *world) close() {
	w.disconnect()
	w.groups.Close()
	synctest.Wait()
	if err := w.manager.Close(1, w.Elapsed()); err != nil && w.manager.Failure() == nil {
		w.t.Error(err)
	}
	_ = w.dir.Close()
}

// Elapsed and Wall are the bubble's time.
func (w *world) Elapsed() kafka.Elapsed { return kafka.Elapsed(time.Since(w.began)) }
func (w *world) Wall() kafka.Timestamp  { return kafka.TimestampOf(time.Now()) }

func (w *world) newID() kafka.UUID {
	w.correlation++
	return kafka.UUID{1, byte(w.correlation)}
}

// pass lets time go by as the broker's loops see it.
func (w *world) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		<-time.After(min(d, partition.TickEvery))
		w.manager.Tick(w.Elapsed())
		w.groups.Tick()
	}
	synctest.Wait()
}

// set changes the broker's file.
func (w *world) set(name, value string) {
	w.settings[name] = value
	w.configure()
}

func (w *world) configure() {
	var err error
	if w.broker, _, err = config.ParseBroker(w.settings); err != nil {
		w.t.Fatal(err)
	}
}

// apply commits records: this broker follows them at once.
func (w *world) apply(records ...metadata.Record) { w.learn(records...)() }

// learn takes in an image that this broker's partitions have not followed yet; follow has them do it.
func (w *world) learn(records ...metadata.Record) (follow func()) {
	before := w.images.Current()
	image, delta := before.Apply(before.Version()+1, records)
	w.newest.Store(image)
	return func() {
		w.manager.Apply(image, &delta, w.Elapsed(), w.Wall())
		w.images.publish(image)
	}
}

// newestImage is what was learnt last, or what was followed when nothing newer was.
func (w *world) newestImage() *metadata.Image {
	newest := w.newest.Load()
	if followed := w.images.Current(); newest == nil || followed.Version() > newest.Version() {
		return followed
	}
	return newest
}

// topicID is the id of a topic of the tests.
func topicID(name string) kafka.TopicID {
	var id kafka.TopicID
	copy(id[1:], name)
	id[0] = 't'
	return id
}

// topic creates a topic whose partitions have these replicas, all in sync, led by the first.
func (w *world) topic(name string, partitions ...[]kafka.NodeID) {
	records := []metadata.Record{&metadata.TopicRecord{ID: topicID(name), Name: name}}
	for i, replicas := range partitions {
		records = append(records, &metadata.PartitionRecord{TopicID: topicID(name), Number: int32(i), Partition: metadata.Partition{
			Replicas: replicas, ISR: replicas, Leader: replicas[0],
		}})
	}
	w.apply(records...)
}

// elect makes another broker lead partition 0.
func (w *world) elect(topic string, n kafka.NodeID) {
	w.apply(&metadata.PartitionChange{TopicID: topicID(topic), Fields: metadata.SetLeader, Leader: n})
}

func on(nodes ...kafka.NodeID) []kafka.NodeID { return nodes }

// asked is a request that was sent.
type asked struct {
	w      *world
	header wire.RequestHeader
	reply  *conn.Reply
	done   chan struct{}
}

// send hands a request to the handler as a connection would; its version is set.
func (w *world) send(req kmsg.Request) *asked {
	w.correlation++
	a := &asked{w: w, done: make(chan struct{}), header: wire.RequestHeader{
		Key: kmsg.Key(req.Key()), Version: req.GetVersion(), CorrelationID: w.correlation, ClientID: "test",
	}}
	a.reply = w.h.Handle(conn.NewRequest(a.header, req.AppendTo(nil), w.info, time.Now()))
	a.reply.Notify(func() { close(a.done) })
	return a
}

// pending tells whether the reply is awaited when nothing moves any more.
func (a *asked) pending() bool {
	synctest.Wait()
	o, _, _ := a.reply.Result()
	return o == conn.Undecided
}

// outcome waits for the reply and gives what became of the request.
func (a *asked) outcome() conn.Outcome {
	<-a.done
	o, _, _ := a.reply.Result()
	return o
}

// response waits for the reply and decodes it.
func (a *asked) response() kmsg.Response {
	a.w.t.Helper()
	if o := a.outcome(); o != conn.Answered {
		_, _, cause := a.reply.Result()
		a.w.t.Fatalf("%s version %d: outcome %d, cause %v", a.header.Key.Name(), a.header.Version, o, cause)
	}
	resp, err := a.decode()
	if err != nil {
		a.w.t.Fatal(err)
	}
	return resp
}

// decode decodes the answer, and gives its chunks back.
func (a *asked) decode() (kmsg.Response, error) {
	_, chunks, _ := a.reply.Result()
	var frame []byte
	for _, c := range chunks {
		if c.File == nil {
			frame = append(frame, c.Bytes...)
			continue
		}
		at := len(frame)
		frame = append(frame, make([]byte, c.Len)...)
		if n, err := c.File.ReadAt(frame[at:], c.Pos); n < c.Len {
			return nil, fmt.Errorf("read %d bytes of a chunk of %d: %w", n, c.Len, err)
		}
	}
	a.reply.Free()
	if len(frame) < 4 || int(uint32(frame[0])<<24|uint32(frame[1])<<16|uint32(frame[2])<<8|uint32(frame[3])) != len(frame)-4 {
		return nil, fmt.Errorf("%s: a frame of %d bytes has another size in it", a.header.Key.Name(), len(frame))
	}
	body, err := wire.ResponseBody(a.header, frame[4:])
	if err != nil {
		return nil, err
	}
	resp := a.header.Key.Response()
	resp.SetVersion(a.header.Version)
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s version %d: %w", a.header.Key.Name(), a.header.Version, err)
	}
	return resp, nil
}

// ask sends a request and waits for its answer.
func ask[R kmsg.Response](w *world, req kmsg.Request) R {
	w.t.Helper()
	return w.send(req).response().(R)
}

// versions are the first and the last version that are served.
func versions(key kmsg.Key) []int16 {
	api, _ := wire.Lookup(key)
	return slices.Compact([]int16{api.Served.Min, api.Served.Max})
}

// batch is one batch of records with these values.
func batch(t *testing.T, o record.BuilderOptions, values ...string) []byte {
	t.Helper()
	b := record.NewBuilder(o)
	for i, v := range values {
		b.Add(kafka.Timestamp(1000+i), nil, []byte(v))
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(out)
}

// write appends records to partition 0 of a topic that this broker leads.
func (w *world) write(topic string, values ...string) {
	w.t.Helper()
	p, code := w.manager.Get(kafka.TopicPartition{Topic: topic})
	if code != kafka.None {
		w.t.Fatal(code)
	}
	result := make(chan partition.ProduceResult, 1)
	p.Produce(partition.ProduceRequest{
		Records: batch(w.t, record.BuilderOptions{}, values...), Acks: partition.AcksLeader, LeaderEpoch: kafka.NoLeaderEpoch, Wall: w.Wall(), Now: w.Elapsed(),
	}, func(r partition.ProduceResult) { result <- r })
	if r := <-result; r.Code != kafka.None {
		w.t.Fatal(r.Code)
	}
}

// code fails the test unless the code is the wanted one.
func (w *world) code(what string, got int16, want kafka.ErrorCode) {
	w.t.Helper()
	if kafka.ErrorCode(got) != want {
		w.t.Errorf("%s: %v, want %v", what, kafka.ErrorCode(got), want)
	}
}

// imageStore is Images.
type imageStore struct {
	mu      sync.Mutex
	current *metadata.Image
	changed chan struct{}
}

func (s *imageStore) watch() (*metadata.Image, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.changed
}

func (s *imageStore) Current() *metadata.Image {
	image, _ := s.watch()
	return image
}

func (s *imageStore) publish(image *metadata.Image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.current, s.changed = image, make(chan struct{})
}

func (s *imageStore) Await(ctx context.Context, ok func(*metadata.Image) bool) *metadata.Image {
	for {
		image, changed := s.watch()
		if ok(image) {
			return image
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return image
		}
	}
}

// fakeController notes what it is asked and answers with answer; without one it never answers.
type fakeController struct {
	mu     sync.Mutex
	asked  []kmsg.Request // guarded by mu
	status quorum.Status
	answer func(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

func (c *fakeController) Status() quorum.Status { return c.status }

func (c *fakeController) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	c.mu.Lock()
	c.asked = append(c.asked, req)
	c.mu.Unlock()
	if c.answer != nil {
		return c.answer(ctx, req)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c *fakeController) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// groupTopics is what the coordinators know of topics.
type groupTopics struct{ images *imageStore }

func (g groupTopics) TopicID(name string) (kafka.TopicID, bool) {
	return ImageTopics{g.images.Current()}.TopicID(name)
}

func (g groupTopics) TopicName(id kafka.TopicID) (string, bool) {
	return ImageTopics{g.images.Current()}.TopicName(id)
}

func (g groupTopics) Partitions(name string) int32 {
	if t := g.images.Current().TopicByName(name); t != nil {
		return t.NumPartitions()
	}
	return 0
}

// groupLog is a partition of the offsets topic whose appends are committed at once.
type groupLog struct {
	mu      sync.Mutex
	batches [][]byte
	end     kafka.Offset
}

func (l *groupLog) Append(_ kafka.LeaderEpoch, b record.Batch, done func(coordinator.AppendResult)) {
	l.mu.Lock()
	base := l.end
	b.SetBaseOffset(base)
	l.batches, l.end = append(l.batches, slices.Clone(b)), b.NextOffset()
	l.mu.Unlock()
	done(coordinator.AppendResult{BaseOffset: base})
}

func (l *groupLog) Read(kafka.Offset, []byte) ([]byte, error) { return nil, io.EOF }

func (l *groupLog) Bounds() coordinator.Bounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	return coordinator.Bounds{HighWatermark: l.end, End: l.end}
}
