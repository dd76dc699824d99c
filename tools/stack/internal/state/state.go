// Package state stores the ports and services of the local stack between commands. Commands check whether components run
// each time, so a stale file cannot report a component that does not run.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// State is the contents of .local/state.json.
type State struct {
	// Ports by use, for example "nats" or "ingester-metrics". They stay the same across restarts and `down`.
	Ports map[string]int `json:"ports"`
	// Services are the services that the last `up` started.
	Services []string `json:"services"`
	// RealNode reports whether the last `up` created a cluster with a real node.
	RealNode bool `json:"realNode,omitempty"`

	path string
}

// Load reads the file. A missing file results in an empty state.
func Load(path string) (*State, error) {
	s := &State{Ports: map[string]int{}, path: path}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the stack: %w", err)
	}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read the state of the stack (remove %s to start over): %w", path, err)
	}
	if s.Ports == nil {
		s.Ports = map[string]int{}
	}
	return s, nil
}

// Save writes the file atomically.
func (s *State) Save() error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the state of the stack: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o750); err != nil {
		return fmt.Errorf("write the state of the stack: %w", err)
	}
	part := s.path + ".part"
	if err := os.WriteFile(part, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the state of the stack: %w", err)
	}
	return os.Rename(part, s.path)
}

// Port returns the port for a use and picks one the first time.
func (s *State) Port(use string) (int, error) {
	if port, ok := s.Ports[use]; ok {
		return port, nil
	}
	return s.pick(use)
}

// Assign returns a free port for a use: if another process listens on the previous port, it picks another one. Call it
// only for a server that does not run.
func (s *State) Assign(use string) (int, error) {
	if port, ok := s.Ports[use]; ok && freeport.Free(port) {
		return port, nil
	}
	return s.pick(use)
}

// pick returns a free port that is not assigned to another use.
func (s *State) pick(use string) (int, error) {
	reserved := map[int]bool{}
	for _, port := range s.Ports {
		reserved[port] = true
	}
	for {
		port, err := freeport.One()
		if err != nil {
			return 0, fmt.Errorf("pick a port for %s: %w", use, err)
		}
		if !reserved[port] {
			s.Ports[use] = port
			return port, s.Save()
		}
	}
}
