package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
	"github.com/fairlead-io/fairlead/broker/producerstate"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Leader epochs, producers and aborted transactions are folds over the batches. Their files save reading the log again;
// they are durable before the recovery point passes what they describe, and when one is missing or damaged the log is
// read instead.

const (
	epochsName       = "leader-epoch-checkpoint"
	maxEpochsBytes   = 16 << 20
	maxSnapshotBytes = 256 << 20

	// keptSnapshots is how many of the newest producer snapshots are kept besides those at the segments' bases.
	keptSnapshots = 2
)

// assignEpoch notes a batch's epoch.
func (l *Log) assignEpoch(e kafka.LeaderEpoch, first kafka.Offset) {
	if known, ok := l.epochs.EpochOf(first); ok && known == e {
		return // recovery goes over batches that the history already knows
	}
	if l.epochs.Assign(e, first) {
		l.epochsDirty = true
	}
}

// readEpochs loads the leader epochs; have is false when they must be found in the batches.
func (l *Log) readEpochs(r *RecoveryReport) (have bool, err error) {
	data, err := vfs.ReadFile(l.fs, path.Join(l.dir, epochsName), maxEpochsBytes)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, vfs.ErrTooLong) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h, damage := leaderepoch.ParseCheckpoint(data)
	if damage == nil {
		l.epochs = h
	}
	return damage == nil, nil // a damaged one is made anew from the batches
}

// settleEpochs follows a cut, and finds the epochs in the batches when the file did not have them.
func (l *Log) settleEpochs(have bool, r *RecoveryReport) error {
	if l.epochs.TruncateFromEnd(l.end) {
		l.epochsDirty = true
	}
	if have || r.Created {
		return nil
	}
	r.RebuiltEpochs, l.epochsDirty = true, true
	l.epochs.Clear()
	return l.eachBatch(l.segs, l.segs[0].base, l.end, func(b record.Batch) error {
		l.assignEpoch(b.LeaderEpoch(), b.BaseOffset())
		return nil
	})
}

// writeEpochs puts the leader epochs in place of the older ones, whole; they are durable after syncDir.
func (l *Log) writeEpochs() error {
	if !l.epochsDirty {
		return nil
	}
	if err := vfs.ReplaceFile(l.fs, path.Join(l.dir, epochsName), l.epochs.AppendCheckpoint(nil)); err != nil {
		return err
	}
	l.epochsDirty, l.namesDirty = false, true
	return nil
}

// settleTxns makes the transaction indexes of the segments anew in which recovery saw markers.
func (l *Log) settleTxns() error {
	for _, s := range l.segs {
		x := s.idx
		if x == nil || !x.txnsStale {
			continue
		}
		x.txnsStale = false
		x.txns = entries{width: txnEntryBytes}
		if err := l.rebuildTxns(s, x, s.next); err != nil {
			return err
		}
		h, err := l.open(s, txnIndexFile)
		if err != nil {
			return err
		}
		err = h.file.Truncate(0)
		l.files.release(h)
		if err != nil {
			return err
		}
	}
	return nil
}

// producersAt is the state of the newest snapshot not beyond end, or that of the log's start.
func (l *Log) producersAt(end kafka.Offset) (*producerstate.State, error) {
	state := producerstate.New(l.segs[0].base, producerstate.Options{})
	l.loadSnapshot(state, end, kafka.NoTimestamp, nil)
	return state, nil
}

// loadSnapshot loads the newest good snapshot in (start of the log, end] into state, if there is one.
func (l *Log) loadSnapshot(state *producerstate.State, end kafka.Offset, now kafka.Timestamp, r *RecoveryReport) {
	for _, at := range slices.Backward(l.snapshots) {
		if at > end || at < l.segs[0].base {
			continue
		}
		data, err := vfs.ReadFile(l.fs, segmentName(l.dir, at, snapshotSuffix), maxSnapshotBytes)
		if err == nil {
			err = state.LoadSnapshot(data, at, now)
		}
		if err == nil && r != nil && r.Scanned && !l.snapshotFits(state) {
			state.Reset(l.segs[0].base)
			err = errForeignSnapshot
		}
		if err == nil {
			return
		}
		if r != nil && !errors.Is(err, fs.ErrNotExist) {
			r.BadSnapshots++
		}
	}
}

// settleProducers removes snapshots beyond the end, and brings the producers up to it.
func (l *Log) settleProducers(o Options, r *RecoveryReport) error {
	if err := l.dropSnapshots(func(at kafka.Offset) bool { return at > l.end }); err != nil {
		return err
	}
	l.producers.Reset(l.segs[0].base)
	l.loadSnapshot(l.producers, l.end, o.Now, r)
	r.ReplayedFrom = l.producers.End()
	if r.ReplayedFrom >= l.end {
		return nil
	}
	err := l.eachBatch(l.segs, r.ReplayedFrom, l.end, func(b record.Batch) error {
		l.producers.Update(b, o.Now)
		return nil
	})
	if err != nil {
		return fmt.Errorf("recover producers: %w", err)
	}
	return nil
}

// dropSnapshots removes the snapshots for which drop holds.
func (l *Log) dropSnapshots(drop func(at kafka.Offset) bool) error {
	kept := l.snapshots[:0]
	var first error
	for _, at := range l.snapshots {
		if drop(at) && first == nil {
			if first = l.removeFile(segmentName(l.dir, at, snapshotSuffix)); first == nil {
				l.namesDirty = true
				continue
			}
		}
		kept = append(kept, at)
	}
	l.snapshots = kept
	return first
}

// writeSnapshot writes the producers' state, which is that at the log's end. It is durable after syncSnapshot and syncDir;
// one that a crash tears is not believed.
func (l *Log) writeSnapshot() error {
	at := l.producers.End()
	i, found := slices.BinarySearch(l.snapshots, at)
	if found {
		return nil
	}
	name := segmentName(l.dir, at, snapshotSuffix)
	f, err := l.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return fmt.Errorf("write producer snapshot: %w", err)
	}
	_, err = f.WriteAt(l.producers.AppendSnapshot(nil), 0)
	f.Close()
	if err != nil {
		return fmt.Errorf("write producer snapshot: %w", errors.Join(err, l.removeFile(name)))
	}
	l.namesDirty = true
	l.snapshots = slices.Insert(l.snapshots, i, at)
	return l.trimSnapshots()
}

// syncSnapshot makes the snapshot at an offset durable, if there is one.
func (l *Log) syncSnapshot(at kafka.Offset) error {
	if _, found := slices.BinarySearch(l.snapshots, at); !found {
		return nil
	}
	f, err := l.fs.OpenFile(segmentName(l.dir, at, snapshotSuffix), os.O_RDWR)
	if err != nil {
		return fmt.Errorf("sync producer snapshot: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return &vfs.SyncError{Err: err}
	}
	return nil
}

// trimSnapshots keeps the newest snapshots, and those at the bases of segments, from which transaction indexes are made.
func (l *Log) trimSnapshots() error {
	if len(l.snapshots) <= keptSnapshots {
		return nil
	}
	newest := l.snapshots[len(l.snapshots)-keptSnapshots]
	return l.dropSnapshots(func(at kafka.Offset) bool {
		if at >= newest {
			return false
		}
		_, isBase := slices.BinarySearchFunc(l.segs, at, func(s *segment, b kafka.Offset) int {
			switch {
			case s.base < b:
				return -1
			case s.base > b:
				return 1
			}
			return 0
		})
		return !isBase
	})
}
