package replication

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fake is a replica that only counts.
type fake struct {
	id    kafka.TopicIDPartition
	pos   replica.FetchPosition
	ready bool
	code  kafka.ErrorCode // what TakeAnswer says
	log   []string

	throttled bool
}

func newFake(n int32) *fake {
	return &fake{id: kafka.TopicIDPartition{TopicID: kafka.TopicID{1}, Partition: n}, pos: replica.FetchPosition{LeaderEpoch: 3, LastEpoch: 2}, ready: true}
}

func (r *fake) ID() kafka.TopicIDPartition                   { return r.id }
func (r *fake) FetchPosition() (replica.FetchPosition, bool) { return r.pos, r.ready }
func (r *fake) TakeAnswer(a replica.Answer) kafka.ErrorCode {
	r.log = append(r.log, fmt.Sprintf("answer as of epoch %d: %d bytes, watermark %d", a.Asked, len(a.Records), a.LeaderWatermark))
	if r.code == kafka.None {
		r.pos.From += kafka.Offset(len(a.Records))
		r.pos.Watermark = a.LeaderWatermark
	}
	return r.code
}
func (r *fake) TakeDivergence(d replica.Diverged, _ kafka.Elapsed) {
	r.log = append(r.log, fmt.Sprintf("diverged at epoch %d end %d", d.Epoch, d.End))
	r.pos.From = d.End
}
func (r *fake) TakeOutOfRange(o replica.OutOfRange, _ kafka.Elapsed) bool {
	r.log = append(r.log, fmt.Sprintf("out of range, leader starts at %d", o.LeaderStart))
	r.pos.From = max(r.pos.From, o.LeaderStart)
	return o.LeaderStart >= 0
}

func (r *fake) Throttled() bool { return r.throttled }

// ask calls Next and prints the request.
func ask(f *Fetcher, now time.Duration) string {
	req, ok := f.Next(kafka.Elapsed(now), 7)
	if !ok {
		return "nothing"
	}
	s := fmt.Sprintf("session %d/%d", req.SessionID, req.SessionEpoch)
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			s += fmt.Sprintf(" %d@%d", p.Partition, p.FetchOffset)
		}
	}
	for _, t := range req.ForgottenTopics {
		s += fmt.Sprint(" forget", t.Partitions)
	}
	return s
}

type part struct {
	n     int32
	code  kafka.ErrorCode
	bytes int
	hw    int64
	div   int64 // end of the divergence, -1 none
	start int64
}

func answer(session int32, parts ...part) *kmsg.FetchResponse {
	resp := &kmsg.FetchResponse{Version: fetchVersion, SessionID: session}
	t := kmsg.FetchResponseTopic{TopicID: kafka.TopicID{1}}
	for _, p := range parts {
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.Partition, rp.ErrorCode, rp.RecordBatches, rp.HighWatermark = p.n, int16(p.code), make([]byte, p.bytes), p.hw
		rp.LogStartOffset = p.start
		if p.div != 0 {
			rp.DivergingEpoch.Epoch, rp.DivergingEpoch.EndOffset = 1, p.div
		}
		t.Partitions = append(t.Partitions, rp)
	}
	resp.Topics = append(resp.Topics, t)
	return resp
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestASessionNamesOnlyWhatChanged(t *testing.T) {
	f := NewFetcher(Options{Self: 2}, nil)
	a, b, c := newFake(0), newFake(1), newFake(2)
	f.Assign(b)
	f.Assign(a)
	expect(t, ask(f, 0), "session 0/0 0@0 1@0")
	expect(t, ask(f, 0), "nothing") // one is out
	f.Handle(answer(9, part{n: 0, bytes: 5, hw: 2}), nil, 0, 0)
	expect(t, ask(f, 0), "session 9/1 0@5")
	f.Assign(c)
	f.Handle(answer(9), nil, 0, 0)
	expect(t, ask(f, 0), "session 9/2 2@0")
	f.Drop(b.id)
	f.Handle(answer(9), nil, 0, 0)
	expect(t, ask(f, 0), "session 9/3 forget[1]")
	f.Handle(answer(9, part{n: 1, bytes: 5}), nil, 0, 0)
	if len(b.log) != 0 {
		t.Errorf("a dropped replica got %v", b.log)
	}
	expect(t, strings.Join(a.log, "; "), "answer as of epoch 3: 5 bytes, watermark 2")
	expect(t, ask(f, 0), "session 9/4")
}

func TestALostSessionIsOpenedAnew(t *testing.T) {
	f := NewFetcher(Options{}, nil)
	a, b := newFake(0), newFake(1)
	f.Assign(a)
	f.Assign(b)
	ask(f, 0)
	f.Handle(answer(9), nil, 0, 0)
	ask(f, 0)
	f.Handle(&kmsg.FetchResponse{ErrorCode: int16(kafka.FetchSessionIDNotFound)}, nil, 0, 0)
	expect(t, ask(f, 0), "session 0/0 0@0 1@0") // at once
	f.Handle(&kmsg.FetchResponse{ErrorCode: int16(kafka.FetchSessionIDNotFound)}, nil, 0, 0)
	expect(t, ask(f, 0), "nothing") // a full fetch cannot have lost its session
	expect(t, ask(f, 25*time.Millisecond), "session 0/0 0@0 1@0")
	f.Handle(answer(0, part{n: 0, bytes: 1}), nil, 0, 0)
	expect(t, ask(f, 25*time.Millisecond), "session 0/0 0@1 1@0") // the leader has no room: always in full
}

func TestAFailedFetchBacksOff(t *testing.T) {
	f := NewFetcher(Options{}, nil)
	f.Assign(newFake(0))
	now := time.Duration(0)
	for _, pause := range []time.Duration{25, 50, 100, 200, 400, 800, 1000, 1000} {
		if got := ask(f, now); got != "session 0/0 0@0" {
			t.Fatal(got)
		}
		f.Handle(nil, errors.New("refused"), kafka.Elapsed(now), 0)
		expect(t, ask(f, now+pause*time.Millisecond-1), "nothing")
		now += pause * time.Millisecond
		if at, ok := f.WakeAt(); !ok || at != kafka.Elapsed(now) {
			t.Errorf("wakes at %v, want %v", at, now)
		}
	}
}

func TestAPartitionInTroubleLeavesTheOthersAlone(t *testing.T) {
	for _, code := range []kafka.ErrorCode{
		kafka.NotLeaderOrFollower, kafka.FencedLeaderEpoch, kafka.UnknownLeaderEpoch, kafka.UnknownTopicID,
		kafka.KafkaStorageError, kafka.InconsistentTopicID, kafka.UnknownServerError,
	} {
		f := NewFetcher(Options{}, nil)
		a, b := newFake(0), newFake(1)
		f.Assign(a)
		f.Assign(b)
		ask(f, 0)
		f.Handle(answer(9, part{n: 0, code: code}, part{n: 1, bytes: 3}), nil, 0, 0)
		expect(t, ask(f, 0), "session 9/1 1@3 forget[0]")
		f.Handle(answer(9), nil, 0, 0)
		expect(t, ask(f, 25*time.Millisecond), "session 9/2 0@0")
		f.Handle(answer(9, part{n: 0, code: code}), nil, kafka.Elapsed(25*time.Millisecond), 0)
		f.Assign(a) // a new epoch: no pause
		expect(t, ask(f, 25*time.Millisecond), "session 9/3 0@0")
	}
}

func TestDivergenceAndOutOfRange(t *testing.T) {
	f := NewFetcher(Options{}, nil)
	a, b, c := newFake(0), newFake(1), newFake(2)
	a.pos.From, b.pos.From = 50, 50
	f.Assign(a)
	f.Assign(b)
	f.Assign(c)
	ask(f, 0)
	f.Handle(answer(9, part{n: 0, div: 40, bytes: 10}, part{n: 1, code: kafka.OffsetOutOfRange, start: 70}, part{n: 2, code: kafka.OffsetOutOfRange, start: -1}), nil, 0, 0)
	expect(t, strings.Join(a.log, "; "), "diverged at epoch 1 end 40")
	expect(t, strings.Join(b.log, "; "), "out of range, leader starts at 70")
	expect(t, ask(f, 0), "session 9/1 0@40 1@70 forget[2]")
}

func TestAReplicaThatCannotWriteRests(t *testing.T) {
	f := NewFetcher(Options{}, nil)
	a := newFake(0)
	a.code = kafka.KafkaStorageError
	f.Assign(a)
	ask(f, 0)
	f.Handle(answer(9, part{n: 0, bytes: 3}), nil, 0, 0)
	expect(t, ask(f, 0), "nothing") // nothing is left to ask for: the session is given up
	expect(t, ask(f, 25*time.Millisecond), "session 0/0 0@0")
}

func TestSessionEpochWraps(t *testing.T) {
	f := NewFetcher(Options{}, nil)
	f.Assign(newFake(0))
	ask(f, 0)
	f.Handle(answer(9), nil, 0, 0)
	f.epoch = 1<<31 - 1
	ask(f, 0)
	f.Handle(answer(9), nil, 0, 0)
	expect(t, ask(f, 0), "session 9/1")
}

func TestSetMovesAReplicaBetweenLeaders(t *testing.T) {
	s := NewSet(Options{}, func(kafka.NodeID, *Fetcher) func() { return func() {} })
	a := newFake(0)
	s.Follow(a, 1)
	expect(t, ask(s.Fetcher(1), 0), "session 0/0 0@0")
	s.Follow(a, 2)
	expect(t, ask(s.Fetcher(2), 0), "session 0/0 0@0")
	s.Fetcher(1).Handle(answer(9), nil, 0, 0)
	expect(t, ask(s.Fetcher(1), 0), "nothing")
	s.Follow(a, kafka.NoNode)
	s.Fetcher(2).Handle(answer(9), nil, 0, 0)
	expect(t, ask(s.Fetcher(2), 0), "nothing")
}

func TestExpressLane(t *testing.T) {
	lanes := map[kafka.NodeID][]*Fetcher{}
	s := newSet(Options{}, 2, func(leader kafka.NodeID, f *Fetcher) func() {
		lanes[leader] = append(lanes[leader], f)
		return func() {}
	})
	a, b, c := newFake(0), newFake(1), newFake(2)
	s.Follow(a, 1)
	main := lanes[1][0]
	expect(t, ask(main, 0), "session 0/0 0@0")
	main.Handle(answer(9, part{n: 0}), nil, 0, 0)
	expect(t, ask(main, 0), "session 9/1") // waits at the leader
	s.Follow(b, 1)
	s.Follow(c, 1)
	express := lanes[1][1]
	expect(t, ask(express, 0), "session 0/0 1@0 2@0")
	express.Handle(answer(8, part{n: 1, bytes: 4}, part{n: 2}), nil, 0, 0)
	expect(t, ask(express, 0), "session 8/1 1@4") // the main lane is still out
	s.Follow(c, kafka.NoNode)
	main.Handle(answer(9), nil, 0, 0)
	express.Handle(answer(8), nil, 0, 0)
	expect(t, ask(express, 0), "nothing") // all has moved on or is gone
	expect(t, ask(main, 0), "session 9/2 1@4")
	s.Follow(b, 2)
	main.Handle(answer(9), nil, 0, 0)
	expect(t, ask(main, 0), "session 9/3 forget[1]")
	expect(t, ask(lanes[2][0], 0), "session 0/0 1@4")
	s.Follow(b, 2) // another leader epoch
	lanes[2][0].Handle(answer(7), nil, 0, 0)
	expect(t, ask(lanes[2][0], 0), "session 7/1")
}
