package backfill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// state is the content of the state file.
type state struct {
	// Command, with the fields below, identifies the backfill: another one must not resume from this state.
	Command        string   `json:"command"`
	ExcludeDeleted bool     `json:"excludeDeleted"`
	Namespaces     []string `json:"namespaces"`
	// Next is the creation time to resume from, by kind; Done lists the finished kinds.
	Next map[string]time.Time `json:"next"`
	Done []string             `json:"done"`
}

func (c *Command) newState(namespaces []string) state {
	return state{
		Command: c.Parts, ExcludeDeleted: c.ExcludeDeleted, Namespaces: append([]string{}, namespaces...),
		Next: map[string]time.Time{}, Done: []string{},
	}
}

// loadState reads the state of an earlier run, or begins a new one.
func (c *Command) loadState(namespaces []string) (state, error) {
	fresh := c.newState(namespaces)
	if c.State == "" {
		return fresh, nil
	}
	raw, err := os.ReadFile(c.State)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, c.saveState(fresh) // report an unwritable file at once
	}
	if err != nil {
		return state{}, fmt.Errorf("--state: %w", err)
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		return state{}, fmt.Errorf("--state %s is not a state file: %w", c.State, err)
	}
	if s.Command != fresh.Command || s.ExcludeDeleted != fresh.ExcludeDeleted || !slices.Equal(s.Namespaces, fresh.Namespaces) {
		return state{}, fmt.Errorf("--state %s belongs to another backfill (command %s, exclude-deleted %t, namespaces %v): use the same flags, or delete the file",
			c.State, s.Command, s.ExcludeDeleted, s.Namespaces)
	}
	if s.Next == nil {
		s.Next = map[string]time.Time{}
	}
	return s, nil
}

// saveState replaces the state file atomically, so that it is readable at any moment.
func (c *Command) saveState(s state) (err error) {
	if c.State == "" {
		return nil
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(c.State), filepath.Base(c.State)+".*")
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if _, err := file.Write(append(raw, '\n')); err != nil {
		return errors.Join(fmt.Errorf("--state: %w", err), file.Close())
	}
	if err := file.Sync(); err != nil {
		return errors.Join(fmt.Errorf("--state: %w", err), file.Close())
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	if err := os.Rename(file.Name(), c.State); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	return nil
}
