package sim

import (
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// weather makes faults while the storm lasts.
type weather struct {
	powerLoss bool // else processes die, and their caches stay
	over      bool
	crashes   int
	repair    []func() // take injected disk faults away
}

func (x *weather) begin(w *World) {
	w.after(w.between(2*time.Second, 3*time.Second), func() { x.next(w) })
}

// next makes one fault and plans the next.
func (x *weather) next(w *World) {
	if x.over {
		return
	}
	w.after(w.between(50*time.Millisecond, 1200*time.Millisecond), func() { x.next(w) })
	h := w.hosts[w.rnd.IntN(len(w.hosts))]
	switch w.rnd.IntN(18) {
	case 0, 1:
		x.crash(w, h)
	case 2: // the leader of the quorum
		for _, o := range w.hosts {
			if o.proc != nil && o.proc.node.Leading() {
				h = o
			}
		}
		x.crash(w, h)
	case 3, 4, 5, 6:
		for _, o := range w.hosts {
			if o.proc == nil {
				o.start()
				break
			}
		}
	case 7:
		if h.proc != nil {
			w.logf("broker %d is asked to leave", h.id)
			p := h.proc
			p.do(func() { p.tell(membership.Shutdown{Limit: w.between(0, 5*time.Second)}) })
		}
	case 8:
		w.net.loss, w.net.dup = w.rnd.IntN(15), w.rnd.IntN(20)
		w.net.delay = w.between(time.Millisecond, 150*time.Millisecond)
		w.logf("network: loss %d%%, duplicates %d%%, delay up to %v", w.net.loss, w.net.dup, w.net.delay)
	case 9:
		x.cut(w, h, true, true)
	case 10:
		x.cut(w, h, true, false)
	case 11:
		x.cut(w, h, false, true)
	case 12, 13:
		x.calmNetwork(w)
	case 14:
		h.syncCost = w.between(time.Millisecond, 120*time.Millisecond)
		w.logf("broker %d: an fsync takes %v", h.id, h.syncCost)
	case 15:
		if w.chance(50) {
			room := w.rnd.Int64N(20_000)
			h.disk.SetQuota(h.disk.Used() + room)
			w.logf("broker %d: %d bytes left on disk", h.id, room)
		} else {
			op := []vfs.Op{vfs.OpSync, vfs.OpWrite, vfs.OpSyncDir}[w.rnd.IntN(3)]
			x.repair = append(x.repair, h.disk.Inject(vfs.Fault{Op: op, Err: syscall.EIO, Times: 1, Partial: true}))
			w.logf("broker %d: the next %v fails", h.id, op)
		}
	case 16:
		h.wallOffset += w.between(-10*time.Minute, 10*time.Minute)
		w.logf("broker %d: wall clock off by %v", h.id, h.wallOffset)
	case 17:
		x.calmDisk(h)
	}
}

func (x *weather) crash(w *World, h *host) {
	if h.proc == nil {
		return
	}
	x.crashes++
	if x.powerLoss && w.chance(60) {
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
}

func (x *weather) calmNetwork(w *World) {
	w.net = network{cut: map[link]bool{}, delay: calmDelay}
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
