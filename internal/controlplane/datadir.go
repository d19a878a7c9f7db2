package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	dataDirPrefix = "argocdprogressive-controlplane-"
	ownerLock     = "owner.lock"
	// A lock file younger than this may not be locked yet by the one who made it.
	sweepAge = time.Minute
)

// dataDir makes the directory of a cluster's data, a new temporary one if dir is empty, and
// locks it until unlock. Temporary directories whose owners were killed are removed on this
// occasion.
func dataDir(dir string) (path string, unlock func(), err error) {
	if dir == "" {
		sweepDataDirs(os.TempDir())
		if dir, err = os.MkdirTemp("", dataDirPrefix); err != nil {
			return "", nil, err
		}
	}
	if path, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", nil, err
	}
	unlock, err = TryLock(filepath.Join(path, ownerLock))
	if err == nil && unlock == nil {
		err = fmt.Errorf("another control plane runs in %s", path)
	}
	return path, unlock, err
}

// sweepDataDirs removes the data of clusters whose owners did not come to it. What cannot be
// removed stays for the next time.
func sweepDataDirs(root string) {
	locks, err := filepath.Glob(filepath.Join(root, dataDirPrefix+"*", ownerLock))
	if err != nil {
		return
	}
	for _, lock := range locks {
		info, err := os.Stat(lock)
		if err != nil || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if unlock, err := TryLock(lock); err == nil && unlock != nil {
			_ = os.RemoveAll(filepath.Dir(lock))
			unlock()
		}
	}
}
