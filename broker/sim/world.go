package sim

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// Options choose a run.
type Options struct {
	Seed       uint64
	KeepTrace  bool // keep the text of the trace, not its digest only
	Replica    replica.Rules
	Controller metactl.Rules
}

// DefaultOptions are a seed with every rule on.
func DefaultOptions(seed uint64) Options {
	return Options{Seed: seed, Replica: replica.AllRules(), Controller: metactl.AllRules()}
}

// Result is what came of a run.
type Result struct {
	Seed    uint64
	Failure string // "" when everything held
	Checker string // that found the failure; "" when none did, as with a panic
	Digest  uint64 // of the trace
	Trace   string // when it was kept
	Events  int
	Acked   int // batches acknowledged
	Crashes int
	Leaders int // leaderships of partitions
	Terms   int // leaderships of the quorum
	Elapsed time.Duration
}

// World is one run.
type World struct {
	o       Options
	rnd     *rand.Rand
	now     kafka.Elapsed
	queue   events
	nextSeq uint64
	ran     int

	hosts     []*host
	net       network
	producers []*producer
	weather   weather
	check     checker
	topics    []simTopic
	// settleTime is the controllers': see metactl.Options.
	settleTime time.Duration

	// inAnswer is called once within the next answer to a produce: it stands for another thread that gets its turn there, where no lock
	// is held.
	inAnswer   func()
	flushDelay time.Duration // between the wish for a flush and the flush, besides what chance adds

	failure string
	noticed string // the checker that found it, "" when none did
	digest  interface {
		Write([]byte) (int, error)
		Sum64() uint64
	}
	text strings.Builder
}

// event is a function at a time.
type event struct {
	at  kafka.Elapsed
	seq uint64
	do  func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(e any)   { *q = append(*q, e.(event)) }
func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*q = old[:len(old)-1]
	return e
}

// Lengths of the two halves of a run.
const (
	storm = 20 * time.Second
	// calm bounds the time after healing until everything must have converged.
	calm = 60 * time.Second
	// maxEvents bounds a run: more means that something spins.
	maxEvents = 3_000_000
)

// Run makes a world and lets it run to its end.
func Run(o Options) Result {
	return run(o, func(w *World) {
		w.build()
		w.runUntil("the storm", w.now.Add(storm), func() bool { return false })
	})
}

// run makes a world, lets something happen in it, heals it and demands convergence.
func run(o Options, happen func(w *World)) (r Result) {
	w := &World{o: o, rnd: rand.New(rand.NewPCG(o.Seed, 0x73696d)), digest: fnv.New64a()}
	defer func() {
		if p := recover(); p != nil {
			w.fail("panic: %v\n%s", p, debug.Stack())
		}
		r = w.result()
	}()
	happen(w)
	if w.failure != "" {
		return r
	}
	w.heal()
	if w.runUntil("convergence", w.now.Add(calm), w.converged) {
		w.check.final(w)
	} else if w.failure == "" {
		w.breach("convergence", "not converged within %v after healing: %s", calm, w.unconverged())
	}
	return r
}

func (w *World) result() Result {
	w.logf("the end after %d events, next would be drawn %016x", w.ran, w.rnd.Uint64()) // so that no two runs differ and have one trace
	return Result{
		Seed: w.o.Seed, Failure: w.failure, Checker: w.noticed, Digest: w.digest.Sum64(), Trace: w.text.String(), Events: w.ran, Acked: w.check.acks,
		Crashes: w.weather.crashes, Leaders: len(w.check.elected), Terms: len(w.check.terms), Elapsed: time.Duration(w.now),
	}
}

// at schedules an event; it must not do more than one host's work.
func (w *World) at(at kafka.Elapsed, do func()) {
	w.nextSeq++
	heap.Push(&w.queue, event{max(at, w.now), w.nextSeq, do})
}

func (w *World) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

// runUntil runs events until done holds, something fails, or the time is over.
func (w *World) runUntil(what string, end kafka.Elapsed, done func() bool) bool {
	for w.failure == "" && !done() {
		if len(w.queue) == 0 || w.queue[0].at > end {
			w.now = end
			return false
		}
		if w.ran++; w.ran > maxEvents {
			w.fail("%s: more than %d events", what, maxEvents)
			return false
		}
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
		w.check.step(w)
	}
	return w.failure == ""
}

// fail ends the run.
func (w *World) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf("at %v: ", time.Duration(w.now)) + fmt.Sprintf(format, args...)
		w.logf("FAILURE %s", w.failure)
	}
}

// breach is a failure that a checker found: a promise that was not kept.
func (w *World) breach(checker, format string, args ...any) {
	if w.failure == "" {
		w.noticed = checker
		w.fail(checker+": "+format, args...)
	}
}

// logf adds a line to the trace.
func (w *World) logf(format string, args ...any) {
	line := fmt.Sprintf("%12.6f ", time.Duration(w.now).Seconds()) + fmt.Sprintf(format, args...) + "\n"
	_, _ = w.digest.Write([]byte(line))
	if w.o.KeepTrace {
		w.text.WriteString(line)
	}
}

// between is a random duration in [lo, hi).
func (w *World) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(w.rnd.Int64N(int64(hi-lo)))
}

func (w *World) chance(percent int) bool { return w.rnd.IntN(100) < percent }
