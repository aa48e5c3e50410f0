// Package lock keeps two runs of the program from working on the same thing.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// retry is how often a held lock is tried again.
const retry = 200 * time.Millisecond

// Acquire takes the lock of a file, which it creates, and waits for it while
// another process holds it; waiting is called once when that is so. The lock
// ends with the process, so that a crash leaves none behind.
func Acquire(ctx context.Context, file string, waiting func()) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of lock %s: %w", file, err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for told := false; ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("wait for lock %s, which another process holds: %w", file, ctx.Err())
		case <-time.After(retry):
		}
	}
}
