package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// linked matches a row of docs/licenses.md: module, version, license, programs.
var linked = regexp.MustCompile(`(?m)^\| (\S+) \| (\S+) \| \S+ \| (.+) \|$`)

// TestImagesHaveLicenseTexts prints the texts for each image. There is one for each module that docs/licenses.md lists.
func TestImagesHaveLicenseTexts(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(), "docs", "licenses.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range services {
		cmd := exec.CommandContext(t.Context(), filepath.Join(root(), "hack", "images", "licenses.sh"), "./cmd/"+service)
		cmd.Dir = filepath.Join(root(), "services", service)
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", service, err)
		}
		checkLicenses(t, service, string(out))
		listed := 0
		for _, m := range linked.FindAllStringSubmatch(string(page), -1) {
			if strings.Contains(", "+m[3]+",", ", "+service+",") {
				listed++
				if !strings.Contains(string(out), "======== "+m[1]+" "+m[2]+": ") {
					t.Errorf("%s: no license text of %s %s", service, m[1], m[2])
				}
			}
		}
		if listed < 20 {
			t.Errorf("docs/licenses.md lists only %d modules of %s: the parser is broken", listed, service)
		}
	}
}

// checkLicenses checks that the texts include that of Go, which is linked too.
func checkLicenses(t *testing.T, service, text string) {
	t.Helper()
	for _, want := range []string{"======== Go go1.", "======== k8s.io/client-go v", "Apache License", "The Go Authors"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: the license texts lack %q", service, want)
		}
	}
}
