package controlplane

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile is TryLock with waiting. waiting is called once if somebody
// else holds the lock.
func lockFile(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	told := false
	for {
		unlock, err := TryLock(path)
		if err != nil {
			return nil, err
		}
		if unlock != nil {
			return unlock, nil
		}
		if !told {
			told = true
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TryLock takes the exclusive lock of the file at path, which is created if need be. unlock is
// nil if another process, or another caller here, holds it. The lock ends with unlock or with
// the process, however that ends.
func TryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { file.Close() }, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, err
}
