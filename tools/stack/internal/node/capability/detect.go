package capability

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// probe is a command that performs an operation of a node in its own namespaces, so that it leaves no resources behind.
type probe struct {
	what string
	args []string
}

var probes = []probe{
	{"mounts", []string{"unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"}},
	{"process namespaces", []string{"unshare", "--pid", "--fork", "--mount-proc", "true"}},
	{"network namespaces", []string{"unshare", "--net", "true"}},
	{"veth devices", []string{"unshare", "--net", "ip", "link", "add", "one", "type", "veth", "peer", "name", "two"}},
	{"iptables with nat", []string{"unshare", "--net", "iptables", "--table", "nat", "--list-rules"}},
	{
		"iptables with conntrack",
		[]string{
			"unshare", "--net", "iptables", "--append", "FORWARD",
			"--match", "conntrack", "--ctstate", "ESTABLISHED", "--jump", "ACCEPT",
		},
	},
}

// Probes returns the names of the trials in their order.
func Probes() []string {
	names := make([]string, 0, len(probes))
	for _, t := range probes {
		names = append(names, t.what)
	}
	return names
}

// Programs maps the programs that a node runs to the Debian packages that contain them.
var Programs = map[string]string{
	"ip": "iproute2", "iptables": "iptables", "conntrack": "conntrack", "runc": "runc",
	"unshare": "util-linux", "nsenter": "util-linux", "mount": "mount",
}

// Basic returns the facts that it can get without running programs.
func Basic() Facts {
	return Facts{OS: runtime.GOOS, UID: os.Getuid()}
}

// Supported returns f with the file systems and controllers of a capable machine, so that Missing reports only a wrong system
// or user.
func (f Facts) Supported() Facts {
	f.Filesystems, f.Controllers = "overlay", controllers
	return f
}

// Detect collects all facts, for a node whose files are in or below dir.
func Detect(ctx context.Context, dir string) Facts {
	f := Basic()
	f.Failed = map[string]string{}
	// If the file is not readable, Filesystems stays empty, which Missing reports.
	if data, err := os.ReadFile("/proc/filesystems"); err == nil {
		f.Filesystems = string(data)
	}
	f.Controllers = mounted("/sys/fs/cgroup")
	f.DataOn = typeOf(ctx, dir)
	for name := range Programs {
		if _, err := exec.LookPath(name); err != nil {
			f.Absent = append(f.Absent, name)
		}
	}
	for _, t := range probes {
		out, err := exec.CommandContext(ctx, t.args[0], t.args[1:]...).CombinedOutput()
		if err != nil {
			f.Failed[t.what] = strings.Join(t.args, " ") + ": " + err.Error() + ": " + firstLine(string(out))
		}
	}
	return f
}

// mounted lists the cgroup controllers: the words in cgroup.controllers for v2, the directories for v1.
func mounted(root string) []string {
	if data, err := os.ReadFile(filepath.Join(root, "cgroup.controllers")); err == nil {
		return strings.Fields(string(data))
	}
	var names []string
	for _, name := range controllers {
		if _, err := os.Stat(filepath.Join(root, name, "cgroup.procs")); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// typeOf returns the file system type of the directory or of its nearest existing parent.
func typeOf(ctx context.Context, dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	out, err := exec.CommandContext(ctx, "stat", "--file-system", "--format=%T", dir).Output()
	if err != nil {
		return "" // assume a usable file system: otherwise the start of the node fails with an error
	}
	if name := strings.TrimSpace(string(out)); name == "overlayfs" {
		return "overlay"
	}
	return "other"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
