// Package capability checks the prerequisites of a real node on this machine. Detect collects facts, Missing evaluates them.
package capability

import (
	"fmt"
	"slices"
	"strings"
)

// Facts describes the machine.
type Facts struct {
	OS  string // GOOS
	UID int
	// Filesystems is the content of /proc/filesystems.
	Filesystems string
	// Controllers are the mounted cgroup controllers.
	Controllers []string
	// DataOn is the type of the file system of the node's directory.
	DataOn string
	// Absent lists missing programs.
	Absent []string
	// Failed maps each failed trial to its error.
	Failed map[string]string
}

// controllers are the cgroup controllers that containers of pods require.
var controllers = []string{"cpu", "memory", "pids"}

// Missing lists the missing prerequisites, one line each. It is empty if a real node can run.
func Missing(f Facts) []string {
	if f.OS != "linux" {
		return []string{"Linux: this is " + f.OS}
	}
	if f.UID != 0 {
		return []string{fmt.Sprintf("root: this is user %d; containers, mounts and networks require root", f.UID)}
	}
	var missing []string
	if len(f.Absent) > 0 {
		missing = append(missing, "programs: "+strings.Join(f.Absent, ", ")+
			" (as root on Debian they are installed; elsewhere install them with your package manager)")
	}
	if !slices.Contains(strings.Fields(f.Filesystems), "overlay") {
		missing = append(missing, "overlayfs: not in /proc/filesystems (modprobe overlay)")
	}
	if f.DataOn == "overlay" {
		missing = append(missing, "a file system for the containers: the stack's directory is on an overlay, which cannot "+
			"hold another overlay; set FLOTILLA_LOCAL to a directory on a disk or a volume")
	}
	for _, name := range controllers {
		if !slices.Contains(f.Controllers, name) {
			missing = append(missing, "cgroups: the controller "+name+" is not mounted below /sys/fs/cgroup")
		}
	}
	for _, what := range Probes() {
		if reason, failed := f.Failed[what]; failed {
			missing = append(missing, what+": "+reason)
		}
	}
	return missing
}

// Error lists the missing prerequisites and the alternative.
type Error struct{ Missing []string }

func (e Error) Error() string {
	return "a real node cannot run here; this is missing:\n  - " + strings.Join(e.Missing, "\n  - ") +
		"\nAlternatively, run `make up`: its nodes are simulated and do not have these prerequisites."
}
