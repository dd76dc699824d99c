// Package capability determines what a machine lacks for a real node. Look reads the facts, Missing decides.
package capability

import (
	"fmt"
	"slices"
	"strings"
)

// Facts are what Look found out.
type Facts struct {
	OS  string // as in GOOS
	UID int
	// Filesystems that the kernel supports, as in /proc/filesystems.
	Filesystems string
	// Controllers are the cgroup controllers that are mounted.
	Controllers []string
	// DataOn is the type of the file system that the node's files lie on.
	DataOn string
	// Absent are programs that are not there.
	Absent []string
	// Trials that failed, by what they tried.
	Failed map[string]string
}

// controllers are those that a pod's containers are put into.
var controllers = []string{"cpu", "memory", "pids"}

// Missing lists what is missing, one line each; it is empty if a real node can run.
func Missing(f Facts) []string {
	if f.OS != "linux" {
		return []string{"Linux: this is " + f.OS}
	}
	if f.UID != 0 {
		return []string{fmt.Sprintf("root: this is user %d; containers, mounts and networks are made by root", f.UID)}
	}
	var missing []string
	if len(f.Absent) > 0 {
		missing = append(missing, "programs: "+strings.Join(f.Absent, ", ")+
			" (as root on Debian they are installed; elsewhere install them with your package manager)")
	}
	if !slices.Contains(strings.Fields(f.Filesystems), "overlay") {
		missing = append(missing, "overlayfs: /proc/filesystems does not name it (modprobe overlay)")
	}
	if f.DataOn == "overlay" {
		missing = append(missing, "a file system for the containers: the stack's directory is on an overlay, on which "+
			"no other can be mounted; set FLOTILLA_LOCAL to a directory on a disk or a volume")
	}
	for _, name := range controllers {
		if !slices.Contains(f.Controllers, name) {
			missing = append(missing, "cgroups: the controller "+name+" is not mounted below /sys/fs/cgroup")
		}
	}
	for _, what := range Trials() {
		if said, failed := f.Failed[what]; failed {
			missing = append(missing, what+": "+said)
		}
	}
	return missing
}

// Error lists all that is missing, and the alternative.
type Error struct{ Missing []string }

func (e Error) Error() string {
	return "a real node cannot run here; this is missing:\n  - " + strings.Join(e.Missing, "\n  - ") +
		"\nWhat runs instead: `make up`, whose nodes are simulated and which needs none of this."
}
