package controlplane

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// module writes a checkout with a go.mod and returns its tools/controlplane.
func module(t *testing.T, gomod string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tools", "controlplane")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": gomod, "go.sum": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCacheDirectoryFollowsVersions(t *testing.T) {
	t.Setenv("FLOTILLA_CACHE", t.TempDir())
	at := func(gomod string) string {
		tools, err := At(module(t, gomod))
		if err != nil {
			t.Fatal(err)
		}
		return tools.Dir
	}
	first, second := at("module a"), at("module a")
	if first != second {
		t.Error("two checkouts of the same versions do not share a directory")
	}
	if at("module a") == at("module b") {
		t.Error("other versions use the same directory")
	}
	if !strings.HasPrefix(at("module a"), os.Getenv("FLOTILLA_CACHE")) {
		t.Errorf("%s is not in FLOTILLA_CACHE", at("module a"))
	}
}

func TestFindReportsMissingToolsWithRemedy(t *testing.T) {
	t.Setenv("FLOTILLA_CACHE", t.TempDir())
	t.Setenv("FLOTILLA_ROOT", filepath.Dir(filepath.Dir(module(t, "module a"))))
	_, err := Find()
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("got %v", err)
	}
}

func TestModuleRequiresCheckout(t *testing.T) {
	t.Setenv("FLOTILLA_ROOT", t.TempDir())
	_, err := Module()
	if !errors.Is(err, ErrNoCheckout) || !strings.Contains(err.Error(), "FLOTILLA_ROOT") {
		t.Errorf("got %v", err)
	}
}

func TestModuleIsFoundFromSubdirectory(t *testing.T) {
	want := module(t, "module a")
	below := filepath.Join(filepath.Dir(want), "deep", "down")
	if err := os.MkdirAll(below, 0o750); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FLOTILLA_ROOT", below)
	if got, err := Module(); got != want || err != nil {
		t.Errorf("got %s, %v instead of %s", got, err, want)
	}
}

func TestVersionFollowsModule(t *testing.T) {
	own, err := Module()
	if err != nil {
		t.Fatal(err)
	}
	flags, err := ldflags(own)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"gitVersion=v1.", "gitMajor=1 ", "-s -w"} {
		if !strings.Contains(flags, want) {
			t.Errorf("no %q in %q", want, flags)
		}
	}
	if version, err := KubernetesVersion(own); err != nil || !strings.Contains(flags, "gitVersion="+version+" ") {
		t.Errorf("version %q, %v in %q", version, err, flags)
	}
	if _, err := KubernetesVersion(module(t, "module a\n")); err == nil {
		t.Error("a module without Kubernetes has a version")
	}
}

func TestProgramsAreModuleTools(t *testing.T) {
	own, err := Module()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(own, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "tool (")
	block, _, _ := strings.Cut(rest, ")")
	tools := strings.Fields(block)
	for _, p := range Programs {
		if !slices.Contains(tools, p.Package) {
			t.Errorf("%s is built from %s, which is not among the tools of go.mod", p.Name, p.Package)
		}
	}
}

func TestProgramIsBuiltOnce(t *testing.T) {
	dir := module(t, "module example.org/tools\n\ngo 1.26.0\n")
	main := filepath.Join(dir, "hello", "main.go")
	if err := os.MkdirAll(filepath.Dir(main), 0o750); err != nil {
		t.Fatal(err)
	}
	text := "package main\n\nfunc main() { println(\"hello\") }\n"
	if err := os.WriteFile(main, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tools := Tools{Dir: t.TempDir()}
	if err := tools.buildOne(t.Context(), dir, Program{Name: "hello", Package: "./hello"}, "-s"); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), tools.Path("hello")).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "hello" {
		t.Errorf("output %q, %v", out, err)
	}
	err = tools.buildOne(t.Context(), dir, Program{Name: "other", Package: "./other"}, "")
	if err == nil || !strings.Contains(err.Error(), "./other") {
		t.Errorf("missing package: %v", err)
	}
}

func TestGuardReadyChangesOnlyPodReady(t *testing.T) {
	stage := "metadata: {name: %s}\nspec: {selector: {matchExpressions: [{key: .status.phase, operator: Exists}]}}\n"
	guarded, err := guardReady(strings.Replace(stage, "%s", "pod-ready", 1))
	if err != nil || !strings.Contains(guarded, FailAnnotation) || !strings.Contains(guarded, ".status.phase") {
		t.Errorf("got %q, %v", guarded, err)
	}
	other := strings.Replace(stage, "%s", "pod-delete", 1)
	if got, err := guardReady(other); got != other || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := guardReady("metadata: {name: pod-ready}\nspec: {}\n"); err == nil {
		t.Error("a pod-ready stage without a selector was accepted")
	}
}

func TestFaultStagesParse(t *testing.T) {
	var names []string
	for doc := range strings.SplitSeq(faultStages, "\n---\n") {
		var stage struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(doc), &stage); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if stage.Kind != "Stage" {
			t.Errorf("%q is a %q", stage.Metadata.Name, stage.Kind)
		}
		names = append(names, stage.Metadata.Name)
	}
	want := []string{
		"fault-image-pull", "fault-container-config", "fault-crashloop", "fault-never-ready", "fault-recover",
		"fault-recover-first", "fault-slow-start", "fault-slow-end", "fault-job-finish",
	}
	if !slices.Equal(names, want) {
		t.Errorf("want stages %v, got %v", want, names)
	}
}

func TestConfigAssignsUniqueLoopbackPorts(t *testing.T) {
	text, err := Config{Name: "a", Dir: t.TempDir()}.render(Tools{Dir: "/tools"})
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Options map[string]any }
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Options["bindAddress"] != "127.0.0.1" {
		t.Errorf("listens on %v", doc.Options["bindAddress"])
	}
	seen := map[any]bool{}
	for _, name := range portNames {
		port, ok := doc.Options[name].(float64)
		if !ok || seen[port] || !freeport.Free(int(port)) {
			t.Errorf("%s is %v", name, doc.Options[name])
		}
		seen[port] = true
	}
}
