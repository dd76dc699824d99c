package compose

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// TestDockerfileCopiesBuildInputs copies the files that the Dockerfile copies, except those in .dockerignore, and checks
// that go list finds all inputs of the programs. It does not build an image, which would require a registry.
func TestDockerfileCopiesBuildInputs(t *testing.T) {
	for _, service := range services {
		t.Run(service, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, copied(t, service))
			cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/"+service)
			cmd.Dir = filepath.Join(dir, "services", service)
			cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestDockerfileBuildsAllServices(t *testing.T) {
	for _, want := range []string{"\nUSER 65532:65532\n", "gcr.io/distroless/static-debian12:nonroot\n", "\nENTRYPOINT [\"/service\"]\n"} {
		if !strings.Contains(dockerfile(t), want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	raw, err := os.ReadFile(filepath.Join(root(), "modules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^services/(\S+)\s+service\s`).FindAllStringSubmatch(string(raw), -1) {
		found = append(found, m[1])
	}
	want := slices.Clone(services)
	slices.Sort(want)
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("these tests build %v, modules.txt has %v", want, found)
	}
}

func TestDockerfileAndScriptsPinSameSBOMTool(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root(), "hack", "tool"))
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`github\.com/CycloneDX/\S+@v[0-9.]+`)
	if a, b := pinned.FindString(dockerfile(t)), pinned.FindString(string(raw)); a == "" || a != b {
		t.Errorf("the Dockerfile runs %q, hack/tool %q", a, b)
	}
}

func dockerfile(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root(), "deploy", "images", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// dockerfileLabels returns the names of the labels in the Dockerfile.
func dockerfileLabels(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:LABEL|     ) ([a-z.]+)=`).FindAllStringSubmatch(dockerfile(t), -1) {
		names[m[1]] = true
	}
	if len(names) < 7 {
		t.Fatalf("only labels %v", names)
	}
	return names
}

// copied returns the paths that the Dockerfile copies from the checkout for a service. Each must keep its path.
func copied(t *testing.T, service string) []string {
	t.Helper()
	var paths []string
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-]\S*) (\S+)$`).FindAllStringSubmatch(strings.ReplaceAll(dockerfile(t), "${SERVICE}", service), -1) {
		if m[1] != m[2] {
			t.Errorf("%s is copied to %s", m[1], m[2])
		}
		paths = append(paths, m[1])
	}
	return paths
}

func writeFiles(t *testing.T, dir string, paths []string) {
	t.Helper()
	file, err := os.Open(filepath.Join(root(), ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		err := filepath.WalkDir(filepath.Join(root(), path), func(from string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(root(), from)
			if err != nil {
				return err
			}
			if skip, err := ignored.MatchesOrParentMatches(name); err != nil || skip {
				return err
			}
			return copyFile(from, filepath.Join(dir, name))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o600)
}
