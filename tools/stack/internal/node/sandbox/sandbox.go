// Package sandbox is the first process of a real node. It runs in namespaces of its own (processes, mounts, network),
// so whatever the node creates, mounts, network devices, iptables rules and the processes of containers among it, is
// removed by the kernel when the process ends, however it ends.
//
// It mounts what the programs of the node expect, waits for its network, and keeps the programs running.
package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
)

// Config configures the sandbox.
type Config struct {
	// Address is the node's, without a mask; nothing starts before it is there.
	Address string
	// Binds are directories of the machine, mounted at another path in the node.
	Binds []Bind
	// Scratch are file systems of their own, in memory and empty at each start.
	Scratch []Scratch
	// Sysctls by their path below /proc/sys.
	Sysctls map[string]string
	// Programs in the order of their start.
	Programs []Program
}

// Bind mounts a directory at another path.
type Bind struct{ Dir, At string }

// Scratch is a tmpfs. Size is in the format of its mount option: 1g.
type Scratch struct{ At, Size string }

// Program is kept running until the sandbox is stopped.
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
