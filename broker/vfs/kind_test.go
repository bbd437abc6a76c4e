package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestKindsOfErrors(t *testing.T) {
	at := func(op string, err error) error {
		return fmt.Errorf("a log: %w", &fs.PathError{Op: op, Path: "f", Err: err})
	}
	for _, test := range []struct {
		err                          error
		full, limit, heals, confined bool
	}{
		{err: at("write", syscall.ENOSPC), full: true, heals: true},
		{err: at("write", syscall.EDQUOT), full: true, heals: true},
		{err: &SyncError{at("fdatasync", syscall.ENOSPC)}, full: true},
		{err: at("open", syscall.EMFILE), limit: true, heals: true},
		{err: &SyncError{at("open", syscall.ENFILE)}, limit: true, heals: true},
		{err: at("open", syscall.ENOENT), confined: true},
		{err: &SyncError{at("open", syscall.ENOENT)}, confined: true}, // of a folder that is gone: nothing was synced
		{err: at("open", syscall.EACCES), confined: true},
		{err: at("open", syscall.ENOTDIR), confined: true},
		{err: at("open", syscall.EISDIR), confined: true},
		{err: at("read", syscall.EIO), confined: true},
		{err: at("open", syscall.EIO)},
		{err: at("write", syscall.EIO)},
		{err: at("write", syscall.EROFS)},
		{err: &SyncError{at("fdatasync", syscall.EIO)}},
		{err: errors.New("other")},
	} {
		if IsFull(test.err) != test.full || IsHandleLimit(test.err) != test.limit || Heals(test.err) != test.heals || IsConfined(test.err) != test.confined {
			t.Errorf("%v: full %v, handle limit %v, heals %v, confined %v", test.err, IsFull(test.err), IsHandleLimit(test.err), Heals(test.err), IsConfined(test.err))
		}
	}
}
