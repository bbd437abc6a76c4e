package sim

import (
	"encoding/binary"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// lossMode says what a run may do to what is not synced. In each, nothing acknowledged may be lost.
type lossMode int

const (
	lossNever   lossMode = iota // processes die, their caches stay
	lossAnyTime                 // the power fails at any time; topics flush before they acknowledge
	// lossSingle: nothing is flushed; a process dies, or its host loses its power, only while another replica is eligible in every
	// partition: to the controller a kill is a power loss. A disk is lost only while everything is whole.
	lossSingle
	lossModes
)

// weather makes faults while the storm lasts. How often, and which kinds, is drawn for each run: a run of everything at once hides more than it shows.
type weather struct {
	mode    lossMode
	kinds   []fault
	pace    time.Duration // longest pause between faults
	maxWait time.Duration // longest delay of the network
	over    bool
	crashes int
	ghosts  uint64   // processes that pretended to be a broker
	repair  []func() // take injected disk faults away
}

// fault is one kind of bad luck, for a host chosen at random.
type fault struct {
	name string
	do   func(x *weather, w *World, h *host)
}

// faults are all kinds. Those that end others come more often than once.
var faults = []fault{
	{"crash", (*weather).crash},
	{"crash of the deciding broker", func(x *weather, w *World, h *host) { x.crash(w, w.deciding(h)) }},
	{"restart", (*weather).restart},
	{"restart", (*weather).restart},
	{"restart", (*weather).restart},
	{"clean stop", func(_ *weather, w *World, h *host) {
		if p := h.proc; p != nil {
			w.logf("broker %d is asked to leave", h.id)
			limit := w.between(0, 5*time.Second)
			p.do(func() { p.tell(membership.Shutdown{Limit: limit}) })
		}
	}},
	{"bad network", func(x *weather, w *World, _ *host) {
		w.net.loss, w.net.dup = w.rnd.IntN(15), w.rnd.IntN(20)
		w.net.delay = w.between(time.Millisecond, x.maxWait)
		w.logf("network: loss %d%%, duplicates %d%%, delay up to %v", w.net.loss, w.net.dup, w.net.delay)
	}},
	{"cut off", func(x *weather, w *World, h *host) { x.cut(w, h, true, true) }},
	{"cut off, outgoing", func(x *weather, w *World, h *host) { x.cut(w, h, true, false) }},
	{"cut off, incoming", func(x *weather, w *World, h *host) { x.cut(w, h, false, true) }},
	{"calm network", func(x *weather, w *World, _ *host) { x.calmNetwork(w) }},
	{"calm network", func(x *weather, w *World, _ *host) { x.calmNetwork(w) }},
	{"slow disk", func(_ *weather, w *World, h *host) {
		h.syncCost = w.between(time.Millisecond, 120*time.Millisecond)
		w.logf("broker %d: an fsync takes %v", h.id, h.syncCost)
	}},
	{"full disk", func(_ *weather, w *World, h *host) {
		room := w.rnd.Int64N(20_000)
		h.disk.SetQuota(h.disk.Used() + room)
		w.logf("broker %d: %d bytes left on disk", h.id, room)
	}},
	{"failing disk", func(x *weather, w *World, h *host) {
		if x.mode == lossSingle {
			return // it would end the process at a time that nobody chose
		}
		f := vfs.Fault{Op: []vfs.Op{vfs.OpSync, vfs.OpWrite, vfs.OpSyncDir}[w.rnd.IntN(3)], Err: syscall.EIO, Times: 1, Partial: true}
		x.repair = append(x.repair, h.disk.Inject(f))
		w.logf("broker %d: the next %v fails", h.id, f.Op)
	}},
	{"wall clock", func(_ *weather, w *World, h *host) {
		h.wallOffset += w.between(-10*time.Minute, 10*time.Minute)
		w.logf("broker %d: wall clock off by %v", h.id, h.wallOffset)
	}},
	{"calm disk", func(x *weather, _ *World, h *host) { x.calmDisk(h) }},
	{"wipe", (*weather).wipe},
	{"lost folder", (*weather).loseFolder},
	{"blackout", func(x *weather, w *World, _ *host) {
		if x.mode != lossAnyTime {
			return
		}
		for _, h := range w.hosts {
			h.end("blackout", true)
			w.after(w.between(10*time.Millisecond, time.Second), func() {
				if h.proc == nil {
					h.start()
				}
			})
		}
	}},
	{"ghost", (*weather).ghost},
	{"delete records", (*weather).deleteRecords},
}

func (x *weather) draw(w *World) {
	x.mode = lossMode(w.rnd.IntN(int(lossModes)))
	x.pace = []time.Duration{200 * time.Millisecond, 600 * time.Millisecond, 1500 * time.Millisecond}[w.rnd.IntN(3)]
	x.maxWait = []time.Duration{20 * time.Millisecond, 150 * time.Millisecond, time.Second}[w.rnd.IntN(3)]
	for _, f := range faults {
		if f.name == "restart" || f.name == "calm network" || w.chance(60) {
			x.kinds = append(x.kinds, f)
		}
	}
}

func (x *weather) begin(w *World) {
	w.after(w.between(2*time.Second, 3*time.Second), func() { x.next(w) })
}

// next makes one fault and plans the next.
func (x *weather) next(w *World) {
	if x.over {
		return
	}
	w.after(w.between(x.pace/10, x.pace), func() { x.next(w) })
	h := w.hosts[w.rnd.IntN(len(w.hosts))]
	x.kinds[w.rnd.IntN(len(x.kinds))].do(x, w, h)
}

// deciding is the broker that leads the quorum, or else the one given.
func (w *World) deciding(or *host) *host {
	for _, h := range w.hosts {
		if h.proc != nil && h.proc.node.Leading() {
			return h
		}
	}
	return or
}

func (x *weather) crash(w *World, h *host) {
	if h.proc == nil || x.mode == lossSingle && !w.expendable(h) {
		return
	}
	x.crashes++
	if w.chance(60) && x.mode != lossNever {
		h.end("power loss", true)
	} else {
		h.end("killed", false)
	}
	if w.chance(50) { // often it comes back at once
		w.after(w.between(10*time.Millisecond, 500*time.Millisecond), func() {
			if h.proc == nil {
				h.start()
			}
		})
	}
}

func (x *weather) restart(w *World, _ *host) {
	for _, o := range w.hosts {
		if o.proc == nil {
			o.start()
			return
		}
	}
}

// wipe replaces a host's disk by an empty one.
func (x *weather) wipe(w *World, h *host) {
	if x.mode != lossSingle || !w.whole() {
		return
	}
	h.end("its disk is lost", true)
	h.disk = w.newDisk(h)
	binary.BigEndian.PutUint64(h.directory[8:], uint64(h.starts))
	if err := h.format(nil); err != nil {
		w.fail("format: %v", err)
		return
	}
	h.start()
}

// loseFolder deletes the folder of one log under its broker, which goes on without it, or never notices.
func (x *weather) loseFolder(w *World, h *host) {
	if x.mode != lossSingle || h.proc == nil || !w.whole() {
		return
	}
	all := h.proc.parts.All()
	if len(all) == 0 {
		return
	}
	h.loseFolder(all[w.rnd.IntN(len(all))].TopicPartition())
	for range 4 { // a new log start must be written: so it is noticed before long
		w.after(w.between(0, 2*time.Second), func() {
			for _, o := range w.hosts {
				x.deleteRecords(w, o)
			}
		})
	}
}

func (x *weather) cut(w *World, h *host, out, in bool) {
	w.logf("broker %d is cut off: outgoing %v, incoming %v", h.id, out, in)
	for _, o := range append(w.everyone(), client) {
		if o == h.id {
			continue
		}
		if out {
			w.net.cut[link{h.id, o}] = true
		}
		if in {
			w.net.cut[link{o, h.id}] = true
		}
	}
	if out && in {
		w.check.expectFenced(w, h)
	}
}

func (x *weather) calmNetwork(w *World) {
	w.net = network{cut: map[link]bool{}, delay: calmDelay, calms: w.net.calms + 1}
	w.logf("network: calm")
}

func (x *weather) calmDisk(h *host) {
	h.syncCost = calmSyncCost
	h.disk.SetQuota(-1)
	if x.over {
		for _, repair := range x.repair {
			repair()
		}
		x.repair = nil
	}
}
