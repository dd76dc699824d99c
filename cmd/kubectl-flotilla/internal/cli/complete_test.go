package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// offered returns the completions for words, the last of which is incomplete.
func (s *shell) offered(args ...string) string {
	s.t.Helper()
	all := append([]string{"__complete", "--kubeconfig", s.kubeconfig, "--cache-dir", s.cache, "--namespace", s.namespace}, args...)
	s.bare = true
	defer func() { s.bare = false }()
	lines := strings.Split(s.run(all...), "\n")
	var out []string
	for _, line := range lines {
		if line != "" && !strings.HasPrefix(line, ":") {
			out = append(out, strings.SplitN(line, "\t", 2)[0])
		}
	}
	return strings.Join(out, " ")
}

func TestCompletionListsCommandsKindsAndNames(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	create(t, ns, "fleet.yaml")
	s := newShell(t, ns)
	for args, want := range map[string]string{
		"stat":                      "status",
		"status ":                   "superset/ fireboltinstance/ fireboltengineclass/ fireboltengine/",
		"why superset/":             "superset/main superset/new",
		"why fireng/":               "fireng/shop",
		"pause supersets ":          "main new",
		"pause supersets main ":     "new",
		"pause superset/main sup":   "superset/ fireboltinstance/ fireboltengineclass/ fireboltengine/",
		"pause boat/":               "",
		"approve-upgrade ":          "main new",
		"approve-upgrade superset/": "superset/main superset/new",
		"status -o ":                "json yaml wide",
		"pause --dry-run ":          "none client server",
	} {
		typed := strings.Split(args, " ")
		if got := s.offered(typed...); got != want {
			t.Errorf("%q: offered is %q, want %q", args, got, want)
		}
	}
	if got := s.offered("status", "--namespace", ""); !strings.Contains(" "+got+" ", " "+ns+" ") {
		t.Errorf("%s is not among the namespaces %q", ns, got)
	}
}

// TestKubectlCompletesPlugin runs kubectl, the completion program that it searches for, and the plugin.
func TestKubectlCompletesPlugin(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	create(t, ns, "fleet.yaml")
	s := newShell(t, ns)
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "kubectl-flotilla"), "../..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	script := filepath.Join(bin, "kubectl_complete-flotilla")
	if err := os.WriteFile(script, []byte(s.run("completion", "kubectl")), 0o700); err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), cluster.Get(t).Tools.Path("kubectl"), args...)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+s.kubeconfig, "KUBECACHEDIR="+s.cache, "HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if out := kubectl("flotilla", "status", "-n", ns, "superset/main"); !strings.HasPrefix(out, "superset/main in "+ns) {
		t.Errorf("kubectl flotilla status prints\n%s", out)
	}
	if out := kubectl("__complete", "flotilla", "why", "-n", ns, "superset/"); !strings.HasPrefix(out, "superset/main\nsuperset/new\n:4") {
		t.Errorf("kubectl offers\n%s", out)
	}
	if out := kubectl("__complete", "flotilla", "app"); !strings.HasPrefix(out, "approve-upgrade") {
		t.Errorf("kubectl offers\n%s", out)
	}
}

func TestHelpMatchesGoldenFile(t *testing.T) {
	s := newShell(t, "")
	s.golden("help.txt", s.run("--help"))
	for _, command := range []string{"status", "why", "history", "events", "wait", "pause", "resume", "stop", "start", "approve-upgrade", "page", "version"} {
		out := s.run(command, "--help")
		if !strings.Contains(out, "kubectl flotilla "+command) || strings.Contains(out, "kubectl-flotilla "+command) {
			t.Errorf("the help of %s does not name it as it is called:\n%s", command, out)
		}
	}
	if out := s.run("version"); !strings.HasPrefix(out, "kubectl-flotilla ") {
		t.Errorf("version prints %q", out)
	}
}

// TestReadmeMatchesGoldenFiles compares the examples of the README with the golden files.
func TestReadmeMatchesGoldenFiles(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status.txt", "tree-superset.txt", "why-api.txt", "history.txt", "events.txt"} {
		golden, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), "\n"+string(golden)+"```\n") {
			t.Errorf("README.md does not show %s as it is", name)
		}
	}
}
