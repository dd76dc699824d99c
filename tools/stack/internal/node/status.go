package node

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// Running returns the pids of the node's programs by name, in the pid namespace of the machine; 0 if a program does not
// run.
func (n *Node) Running() (map[string]int, error) {
	running := map[string]int{sandboxName: n.spec().PID()}
	for _, p := range n.programs() {
		running[p.Name] = 0
	}
	marked, err := proc.Marked(n.c.Marker())
	if err != nil {
		return nil, err
	}
	for _, pid := range marked {
		program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if err != nil {
			continue // it has just exited
		}
		if _, managed := running[filepath.Base(program)]; managed {
			running[filepath.Base(program)] = pid
		}
	}
	return running, nil
}

// Names returns the names of the sandbox and the programs in it, each of which has a log, in the order of their start.
func (n *Node) Names() []string {
	names := []string{sandboxName}
	for _, p := range n.programs() {
		names = append(names, p.Name)
	}
	return names
}

// Server returns the URL of the API server.
func (n *Node) Server() string { return n.server() }

// Certificates returns the directory of the cluster's CA and of the certificates that it signed, also for the bus.
func (n *Node) Certificates() string { return n.dir("pki") }
