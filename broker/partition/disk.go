package partition

import (
	"errors"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// storageError is the code for an error of the log, and what follows from it: a full disk stops appends until there is
// space, a lack of handles only this one attempt, damage in one place its readers, and everything else the directory for
// good.
func (p *Partition) storageError(doing string, err error) kafka.ErrorCode {
	switch {
	case errors.Is(err, seglog.ErrClosed):
		return kafka.NotLeaderOrFollower
	case vfs.IsFull(err):
		p.host.full.Store(true)
	case vfs.IsHandleLimit(err):
	case errors.Is(err, seglog.ErrCorrupt) && !errors.Is(err, seglog.ErrOffline):
		// Damage in stored batches harms their readers alone.
	default:
		p.host.fail(doing, p.name, err)
	}
	return kafka.KafkaStorageError
}

// heals tells whether an operation that failed may succeed later.
func heals(err error) bool { return vfs.IsFull(err) || vfs.IsHandleLimit(err) }

var errOwed = errors.New("no space or file handle for it")

// checkSpace looks at the free space and opens or shuts the door for appends. It opens only with a quarter more than the
// reserve, so that the door does not flap.
func (h *host) checkSpace() {
	if h.o.ReserveBytes <= 0 {
		// No reserve: a full disk is noticed by an append that fails; trying again is the only test.
		h.full.Store(false)
		return
	}
	reserve := h.o.ReserveBytes
	if h.full.Load() {
		reserve += reserve / 4
	}
	low, err := h.o.Directory.LowSpace(reserve)
	if err != nil {
		return // unknown is not full
	}
	h.full.Store(low)
}
