package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
)

// services are the programs of this repository whose flags and subcommands the pages use.
var services = goprogram.MustServices(root)

// kubectlVerbs are the commands of kubectl that the pages use.
var kubectlVerbs = wordSet(`annotate api-resources apply config create delete describe explain get label logs patch set
	port-forward rollout scale wait`)

var helmVerbs = wordSet("dependency get install lint list rollback status template test uninstall upgrade")

// foreignFlags are flags of kubectl, helm, curl, go, docker, mysql and others, not of Flotilla's programs.
var foreignFlags = wordSet(`--all-namespaces --as --cascade --cert --key --patch-file --context --data-urlencode --dry-run --fail-with-body --feature-gates --field-manager
	--force --from-literal --get --help --host --ignore-not-found --insecure --max-time --mode --namespace --no-hooks --output --overwrite --password --port
	--previous --privileged --raw --read-only --replicas --restart --rm --runtime-config --server-side --set --show-labels --subresource --timeout
	--type --user --values --version --wait --execute --for --from-file --clusterrole --serviceaccount --create-namespace --install --reset-then-reuse-values --reuse-values --retry
	--skip-gtids`)

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		out[w] = true
	}
	return out
}

var target = regexp.MustCompile(`(?m)^([A-Za-z][\w%/-]*):(?:[^=]|$)`)

// targets returns the targets of the Makefile and its parts.
func targets(t *testing.T) map[string]bool {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(root, "make", "*.mk"))
	if err != nil || len(parts) == 0 {
		t.Fatalf("no parts of the Makefile found: %v", err)
	}
	out := map[string]bool{}
	for _, part := range append(parts, filepath.Join(root, "Makefile")) {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range target.FindAllStringSubmatch(string(text), -1) {
			out[m[1]] = true
		}
	}
	return out
}

// sources returns the Go source below directories, without tests.
func sources(t *testing.T, dirs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

var quoted = regexp.MustCompile(`"((?:[a-z][a-z0-9]*-?)+)"`)

// names returns the quoted words in the sources of the programs, which include flags and subcommands.
func names(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	text := sources(t, "services", "libs/kube", "libs/bus", "libs/telemetry", "libs/testkit/renderdiff", "cmd", "tools", "docs/examples", "test/stack", "test/compat", "test/e2e")
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		out[m[1]] = true
	}
	return out
}

var (
	use   = regexp.MustCompile(`Use:\s+"([a-z-]+)`)
	verbs = regexp.MustCompile(`=\s*"([a-z]+)"`)
)

// plugin returns the subcommands of kubectl flotilla.
func plugin(t *testing.T) map[string]bool {
	t.Helper()
	out := wordSet("completion help")
	for _, m := range use.FindAllStringSubmatch(sources(t, "cmd/kubectl-flotilla"), -1) {
		out[m[1]] = true
	}
	for _, m := range verbs.FindAllStringSubmatch(sources(t, "cmd/kubectl-flotilla/internal/intent"), -1) {
		out[m[1]] = true
	}
	if !out["status"] || !out["pause"] || out["Paused"] {
		t.Fatalf("subcommands of the plugin not found: %v", out)
	}
	return out
}
