// Package box is the first process of a real node. It runs in namespaces of its own (processes, mounts, network), so
// whatever the node makes, mounts, network devices, iptables rules and the containers' processes among it, is gone with
// it, however it ends: the kernel sees to that.
//
// In there it mounts what the node's programs expect, waits for its network, and keeps the programs running.
package box

import (
	"encoding/json"
	"fmt"
	"os"
)

// Config is what the box does.
type Config struct {
	// Address is the node's, without a mask; nothing starts before it is there.
	Address string
	// Binds are folders of the machine by the place at which the node sees them.
	Binds []Bind
	// Scratch are file systems of their own, in memory and empty at each start.
	Scratch []Scratch
	// Sysctls by their path below /proc/sys.
	Sysctls map[string]string
	// Programs in the order of their start.
	Programs []Program
}

// Bind shows a folder at another place.
type Bind struct{ Folder, At string }

// Scratch is as large as Size says, in words of the kernel: 1g.
type Scratch struct{ At, Size string }

// Program is kept running until the box is told to end.
type Program struct {
	Name string
	Args []string
	Env  []string // KEY=value on top of the box's own
	Log  string
}

// Write writes the configuration to a file, for Run.
func (c Config) Write(file string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("write the configuration of the node: %w", err)
	}
	return os.WriteFile(file, data, 0o600)
}

func read(file string) (Config, error) {
	var c Config
	data, err := os.ReadFile(file) //nolint:gosec // the stack's own file
	if err != nil {
		return c, fmt.Errorf("read the configuration of the node: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read the configuration of the node: %w", err)
	}
	return c, nil
}
