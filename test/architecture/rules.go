package architecture

import (
	"regexp"
	"strings"
)

// prefix is the import path of the repository.
const prefix = "github.com/flotilla-dev/flotilla/"

// pureNames are the names of packages with pure functions: values in, values out.
// A package with one of these names below services/*/internal or libs must not do I/O.
var pureNames = map[string]bool{
	"plan": true, "render": true, "resolve": true, "decide": true,
	"checksum": true, "status": true, "lifecycle": true, "engine": true, "model": true,
	"liveness": true, "index": true, "wire": true, "desired": true, "snapshot": true,
	"observation": true, "registry": true, "record": true, "crd": true,
	"exposure": true, "maintenance": true, "version": true, "bringup": true, "schedule": true, "redact": true,
	"validation": true, "adopt": true, "gateway": true, "pyconfig": true, "managedfields": true,
}

// purePaths are pure packages with other names, by path inside the repository.
var purePaths = map[string]bool{
	"libs/contract":              true,
	"libs/conditions":            true,
	"libs/conditions/transition": true,
	"libs/kube/workload":         true,
}

// impure lists imports, and prefixes of imports, that do I/O.
var impure = []string{
	"os", "os/exec", "net", "net/http", "io/ioutil", "syscall", "database/sql", "os/signal",
	"sigs.k8s.io/controller-runtime", "k8s.io/client-go", "github.com/nats-io", "github.com/jmoiron", "github.com/go-sql-driver",
}

// isPure reports whether the package in a directory of the repository must not do I/O.
func isPure(dir string) bool {
	if purePaths[dir] {
		return true
	}
	parts := strings.Split(dir, "/")
	inside := len(parts) > 3 && parts[0] == "services" && parts[2] == "internal"
	// A controller package may have one of these names: controller/engine does I/O.
	return inside && parts[3] != "controller" && pureNames[parts[len(parts)-1]]
}

// isImpure reports whether an import does I/O.
func isImpure(path string) bool {
	for _, p := range impure {
		if path == p || strings.Contains(p, ".") && strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// foreignInternals reports whether path, imported in dir, is a package of another service outside its api.
func foreignInternals(dir, path string) bool {
	tail, owned := strings.CutPrefix(path, prefix)
	if !owned || !strings.HasPrefix(tail, "services/") {
		return false
	}
	target := strings.Split(tail, "/")
	own := strings.Split(dir, "/")
	if len(own) > 1 && own[0] == "services" && own[1] == target[1] {
		return false
	}
	return len(target) < 3 || target[2] != "api"
}

// Limits of hand-written code.
const (
	maxLines = 300 // of a file
	maxFiles = 12  // of a package, without tests
)

// apiPackage matches the packages of API types, whose files may share a prefix: an API group is a single package.
var apiPackage = regexp.MustCompile(`/api/v\d\w*$`)

func isAPI(dir string) bool { return apiPackage.MatchString(dir) }

// systems matches the suffixes of files for some operating systems.
var systems = regexp.MustCompile(`(_(linux|darwin|windows|unix|other))?\.go$`)

// subjectOf returns the path of a file without its suffixes.
func subjectOf(path string) string { return systems.ReplaceAllString(path, "") }

// badNames are package names that are not descriptive.
var badNames = map[string]bool{
	"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "misc": true, "base": true, "types": true, "impl": true,
}
