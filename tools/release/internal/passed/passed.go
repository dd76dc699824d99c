// Package passed records on this machine which checks have passed, and for which content of their inputs, so that CI can
// skip a check whose inputs have not changed.
package passed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keep is how long an unused record is kept.
const keep = 30 * 24 * time.Hour

// Key identifies a check and its inputs: files are paths and the hashes of their contents, toolchain is the state of
// the machine.
func Key(check, toolchain string, files map[string]string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00", check, toolchain)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s\x00%s\x00", path, files[path])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Store is a directory with one file per key.
type Store struct {
	Dir string
	Now func() time.Time
}

// Since returns when the check with this key passed, and whether it did.
func (s Store) Since(key string) (time.Time, bool, error) {
	file := filepath.Join(s.Dir, key)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, err
	}
	when, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil { // partial or foreign file: the check runs
		return time.Time{}, false, nil //nolint:nilerr // see above
	}
	now := s.Now()
	return when, true, os.Chtimes(file, now, now)
}

// Add records that the check with this key passed, and removes records that were not used for a month.
func (s Store) Add(key string) error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	now, part := s.Now(), filepath.Join(s.Dir, "."+key)
	if err := os.WriteFile(part, []byte(now.UTC().Format(time.RFC3339)+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.Chtimes(part, now, now); err != nil {
		return err
	}
	if err := os.Rename(part, filepath.Join(s.Dir, key)); err != nil {
		return err
	}
	return s.prune()
}

func (s Store) prune() error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another run removed it
		}
		if err != nil {
			return err
		}
		if s.Now().Sub(info.ModTime()) < keep {
			continue
		}
		if err := os.Remove(filepath.Join(s.Dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
