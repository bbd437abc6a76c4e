package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// StopLimit is how long a broker may take to stop before it is killed.
const StopLimit = 30 * time.Second

// controlPause is how often files and processes are looked at.
const controlPause = 50 * time.Millisecond

// Stop ends one broker of a running `fairlead dev` by SIGTERM and waits; it is not restarted.
func Stop(ctx context.Context, dir string, id int) error {
	c, err := readCluster(dir)
	if err != nil {
		return describeMissing(dir, err)
	}
	if err := c.has(id); err != nil {
		return err
	}
	if err := os.WriteFile(stoppedFile(dir, id), nil, 0o644); err != nil {
		return err
	}
	pid, err := runningPid(dir, id)
	if err != nil || pid == 0 {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop broker %d: %w", id, err)
	}
	ctx, cancel := context.WithTimeout(ctx, StopLimit)
	defer cancel()
	for {
		if now, err := runningPid(dir, id); err != nil || now != pid {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop broker %d: still running after %v", id, StopLimit)
		case <-time.After(controlPause):
		}
	}
}

// Start lets a stopped broker run again and waits until it answers.
func Start(ctx context.Context, dir string, id int) error {
	c, err := readCluster(dir)
	if err != nil {
		return describeMissing(dir, err)
	}
	if err := c.has(id); err != nil {
		return err
	}
	if l, err := lock(dir); err == nil {
		l.Close()
		return fmt.Errorf("start broker %d: no `fairlead dev` runs in %s", id, dir)
	}
	if err := os.Remove(stoppedFile(dir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return AwaitOne(ctx, dir, id)
}

func describeMissing(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s holds no cluster of `fairlead dev`", dir)
	}
	return err
}

func isStopped(dir string, id int) bool {
	_, err := os.Stat(stoppedFile(dir, id))
	return err == nil
}

// lock takes the directory for one `fairlead dev`.
func lock(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the cluster's directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "dev.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is in use by another `fairlead dev`", dir)
	}
	return f, nil
}
