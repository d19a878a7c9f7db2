package controlplane

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile takes the exclusive lock of path and returns what releases it. The lock is the open
// file's, so it ends with the process, however that ends. waiting is called once if somebody
// else holds the lock.
func lockFile(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	told := false
	for {
		unlock, err := tryLockFile(path)
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

// tryLockFile is lockFile without waiting: unlock is nil if somebody else holds the lock.
func tryLockFile(path string) (unlock func(), err error) {
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
