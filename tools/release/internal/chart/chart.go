// Package chart reads and sets the versions in the Chart.yaml of a service.
package chart

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	version    = regexp.MustCompile(`(?m)^version: .*$`)
	appVersion = regexp.MustCompile(`(?m)^appVersion: .*$`)
)

// Files returns the charts of the module at a path, relative to the checkout: one for the service, one for its CRDs.
// Other modules than services have none.
func Files(root, module string) []string {
	var out []string
	for _, name := range []string{path.Base(module), path.Base(module) + "-crds"} {
		file := path.Join("deploy/charts", name, "Chart.yaml")
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err == nil && path.Dir(module) == "services" {
			out = append(out, file)
		}
	}
	return out
}

// Has reports whether a Chart.yaml has the version of a tag. The appVersion is the tag of the image, so it begins with v.
func Has(text, tag string) bool {
	return version.FindString(text) == "version: "+strings.TrimPrefix(tag, "v") && appVersion.FindString(text) == "appVersion: "+tag
}

// Set returns a Chart.yaml with the version of a tag.
func Set(text, tag string) (string, error) {
	if !version.MatchString(text) || !appVersion.MatchString(text) {
		return "", errors.New("no line with version or appVersion")
	}
	text = version.ReplaceAllLiteralString(text, "version: "+strings.TrimPrefix(tag, "v"))
	return appVersion.ReplaceAllLiteralString(text, "appVersion: "+tag), nil
}
