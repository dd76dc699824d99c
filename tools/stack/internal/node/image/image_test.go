package image_test

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/node/image"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestImageContainsProgram(t *testing.T) {
	i := image.Image{Name: "tool", Program: write(t, "the program"), Path: "/bin/tool", Links: []string{"/bin/sh"}, Entrypoint: []string{"/bin/tool"}}
	file := filepath.Join(t.TempDir(), "images", "tool.tar")
	if err := i.Write(file); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(i.Entrypoint, config.Config.Entrypoint); diff != "" {
		t.Error(diff)
	}
	content := mutate.Extract(img)
	defer content.Close()
	var names []string
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name+" "+h.Linkname)
		if data, err := io.ReadAll(r); err != nil || (h.Name == "bin/tool" && string(data) != "the program") {
			t.Errorf("%s holds %q: %v", h.Name, data, err)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"bin/sh /bin/tool", "bin/tool ", "tmp "}, names); diff != "" {
		t.Error(diff)
	}
}

func TestReferenceChangesWithProgram(t *testing.T) {
	one, err := image.Image{Name: "tool", Program: write(t, "one")}.Reference()
	if err != nil {
		t.Fatal(err)
	}
	two, err := image.Image{Name: "tool", Program: write(t, "two")}.Reference()
	if err != nil {
		t.Fatal(err)
	}
	if one == two || !strings.HasPrefix(one, "flotilla-node/tool:") {
		t.Errorf("the references are %s and %s", one, two)
	}
}
