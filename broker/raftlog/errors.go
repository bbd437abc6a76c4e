package raftlog

import (
	"errors"
	"fmt"
)

// ErrCorrupt is the kind of error that says: bytes that were synced are not what was written, or files are missing. The directory must not
// be used again: a member that may have forgotten its vote is a new member.
var ErrCorrupt = errors.New("corrupt")

// ErrOffline is the kind of error of every call after a write or sync failed.
var ErrOffline = errors.New("quorum log is offline")

// ErrForeign is the kind of error of opening a folder that belongs to another node, directory or cluster.
var ErrForeign = errors.New("belongs to another")

func corruptAt(name string, pos int64, format string, args ...any) error {
	return fmt.Errorf("open quorum log: %s at %d: %s: %w", name, pos, fmt.Sprintf(format, args...), ErrCorrupt)
}
