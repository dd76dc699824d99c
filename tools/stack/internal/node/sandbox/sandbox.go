// Package sandbox implements the first process of a real node. It runs in its own process, mount and network namespaces,
// so the kernel removes the resources of the node when the process exits: mounts, network devices, iptables rules and the
// processes of containers.
//
// It mounts the directories that the programs of the node expect, waits for its network, and keeps the programs running.
package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
)

// Config configures the sandbox.
type Config struct {
	// Address is the address of the node, without a mask. Run waits for it before it starts programs.
	Address string
	// Binds are directories of the machine, mounted at another path in the node.
	Binds []Bind
	// Scratch are separate file systems in memory, empty at each start.
	Scratch []Scratch
	// Sysctls are kernel parameters by their path below /proc/sys.
	Sysctls map[string]string
	// Programs are the programs in start order.
	Programs []Program
}

// Bind mounts a directory at another path.
type Bind struct{ Dir, At string }

// Scratch is a tmpfs. Size is in the format of its mount option: 1g.
type Scratch struct{ At, Size string }

// Program is a program that the sandbox keeps running.
type Program struct {
	Name string
	Args []string
	Env  []string // KEY=value in addition to the sandbox's own
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
	data, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("read the configuration of the node: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read the configuration of the node: %w", err)
	}
	return c, nil
}
