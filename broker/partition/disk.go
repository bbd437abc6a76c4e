package partition

import (
	"errors"
	"io/fs"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// storageError is the code for an error of the log, and what follows from it: a full disk stops appends until there is
// space, a lack of handles only this one attempt, damage in one place its readers, files that are gone this log, and
// everything else the directory, the last two for good.
func (p *Partition) storageError(doing string, err error) kafka.ErrorCode {
	switch {
	case errors.Is(err, seglog.ErrClosed):
		return kafka.NotLeaderOrFollower
	case errors.Is(err, seglog.ErrOffline): // whatever it was that took it offline: an fsync may find the disk full
		p.host.fail(doing, p.name, err)
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, seglog.ErrFailed) && p.log.Present():
		// A reader that was overtaken, again and again, by what deletes and replaces segments.
	case p.host.ofLog(err):
		p.fail(doing, err)
	case vfs.IsFull(err):
		p.host.space.refused(kafka.Elapsed(p.host.now.Load()))
	case vfs.IsHandleLimit(err):
	case errors.Is(err, seglog.ErrCorrupt):
		// Damage in stored batches harms their readers alone; a person has to know.
		p.host.tellDamage(doing, p.name, err)
	default:
		p.host.fail(doing, p.name, err)
	}
	return kafka.KafkaStorageError
}

func (h *host) tellDamage(doing string, p kafka.TopicPartition, err error) {
	if h.o.Damaged != nil {
		h.o.Damaged(doing, p, err)
	}
}

// heals tells whether an operation that failed may succeed later.
func heals(err error) bool { return vfs.Heals(err) && !errors.Is(err, seglog.ErrOffline) }
