package sim

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// host is a machine: it outlives its processes.
type host struct {
	w         *World
	id        kafka.NodeID
	disk      *vfs.Mem
	directory kafka.DirectoryID
	proc      *process // nil while down
	starts    int
	unclean   bool // the last process ended uncleanly, and no image has the registration of the present one yet
	// lost are the logs whose folder was deleted under the last process, until an image has the registration of the next one.
	lost map[kafka.TopicPartition]bool

	wallOffset time.Duration // of its wall clock against the simulation's
	syncCost   time.Duration // of one fsync
	cost       time.Duration // of the operations of the event under way
	busyUntil  kafka.Elapsed // the disk works until then
	backlog    []task
}

const (
	clusterID = "simulated-cluster"
	dataDir   = "data"
	quorumDir = "data/__fairlead_quorum"

	calmSyncCost = 200 * time.Microsecond
)

// epochStart is the wall time at which every run begins.
const epochStart = kafka.Timestamp(1_700_000_000_000)

func (w *World) newHost(id kafka.NodeID) *host {
	h := &host{w: w, id: id, syncCost: calmSyncCost, lost: map[kafka.TopicPartition]bool{}}
	h.disk = w.newDisk(h)
	binary.BigEndian.PutUint64(h.directory[:], w.rnd.Uint64()|1)
	return h
}

// newDisk is an empty disk that charges its operations to h.
func (w *World) newDisk(h *host) *vfs.Mem {
	disk := vfs.NewMem(w.rnd.Uint64())
	disk.Observe(func(op vfs.Op, _ string, _ int) {
		if op == vfs.OpSync || op == vfs.OpSyncDir {
			h.cost += h.syncCost
		}
	})
	return disk
}

// format prepares an empty disk; voters is empty for a host that joins.
func (h *host) format(f *quorum.Founding) error {
	if err := h.disk.MkdirAll(dataDir); err != nil {
		return err
	}
	if err := h.disk.SyncDir("."); err != nil {
		return err
	}
	if f != nil {
		if err := quorum.Bootstrap(h.disk, quorumDir, quorum.Voter{Node: h.id, Directory: h.directory}, *f); err != nil {
			return err
		}
	}
	dir, err := seglog.OpenDirectory(h.disk, dataDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Format(seglog.MetaProperties{ClusterID: clusterID, NodeID: h.id, DirectoryID: h.directory})
}

func (h *host) wall() kafka.Timestamp {
	return epochStart + kafka.Timestamp((time.Duration(h.w.now) + h.wallOffset).Milliseconds())
}

// do runs something that uses the host's disk, in order, when the disk has done what came before; the process must still be there then.
func (p *process) do(what func()) {
	h := p.h
	if h.proc != p {
		return
	}
	if h.w.now < h.busyUntil || len(h.backlog) > 0 {
		h.backlog = append(h.backlog, task{p, what})
		if len(h.backlog) == 1 {
			h.w.at(h.busyUntil, h.catchUp)
		}
		return
	}
	h.run(task{p, what})
}

// catchUp runs what waited for the disk, until the disk works again.
func (h *host) catchUp() {
	for len(h.backlog) > 0 {
		if h.w.now < h.busyUntil {
			h.w.at(h.busyUntil, h.catchUp)
			return
		}
		t := h.backlog[0]
		h.backlog = h.backlog[1:]
		h.run(t)
	}
}

func (h *host) run(t task) {
	if h.proc != t.p {
		return
	}
	h.cost = 0
	t.what()
	h.busyUntil = h.w.now.Add(h.cost)
	if h.proc == t.p {
		t.p.lookForFailure()
	}
}

// task is work of a process that waits for the disk.
type task struct {
	p    *process
	what func()
}

// end takes the process away at once. lost tells whether the power went too.
func (h *host) end(why string, lost bool) {
	p := h.proc
	if p == nil {
		return
	}
	h.unclean = h.unclean || !p.closed
	h.w.logf("broker %d ends: %s", h.id, why)
	h.proc = nil
	p.ended()
	if lost {
		h.disk.Crash()
	} else {
		h.unlock(p)
	}
	h.busyUntil = h.w.now
}

// vanish is a loss of power that nobody is told of, and that takes all that was not synced.
func (h *host) vanish() {
	if h.proc == nil {
		return
	}
	h.w.logf("broker %d vanishes", h.id)
	h.unclean, h.proc, h.busyUntil = true, nil, h.w.now
	h.disk.CrashHard()
}

// loseFolder deletes the folder of a log under the running process. What was not lost with it is that of other hosts.
func (h *host) loseFolder(tp kafka.TopicPartition) {
	h.w.logf("broker %d: the folder of %v is deleted", h.id, tp)
	h.unclean, h.lost[tp] = true, true
	if err := h.disk.RemoveAll(dataDir + "/" + tp.String()); err != nil {
		h.w.fail("delete a folder: %v", err)
	}
}

// unlock gives the lock of the data directory back, as the kernel does for a dead process; no other file is touched.
func (h *host) unlock(p *process) {
	if p.dir != nil {
		_ = p.dir.Close()
	}
}

func (h *host) String() string { return fmt.Sprintf("broker %d", h.id) }
