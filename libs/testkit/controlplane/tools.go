package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/testkit/cachedir"
)

// Errors of [Find]. Their messages include the remedy.
var (
	// ErrMissing is returned if the programs do not exist.
	ErrMissing = errors.New("control plane tools are missing")
	// ErrNoCheckout is returned outside a checkout, which pins the programs.
	ErrNoCheckout = errors.New("not in a checkout of Flotilla")
)

// Programs lists the programs of a cluster in build order: small ones first, so that progress is visible early.
var Programs = []Program{
	{Name: "etcd", Package: "go.etcd.io/etcd/server/v3"},
	{Name: "kwok", Package: "sigs.k8s.io/kwok/cmd/kwok"},
	{Name: "kwokctl", Package: "sigs.k8s.io/kwok/cmd/kwokctl"},
	{Name: "kubectl", Package: "k8s.io/kubernetes/cmd/kubectl"},
	{Name: "helm", Package: "helm.sh/helm/v3/cmd/helm"},
	{Name: "kube-scheduler", Package: "k8s.io/kubernetes/cmd/kube-scheduler"},
	{Name: "kube-controller-manager", Package: "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{Name: "kube-apiserver", Package: "k8s.io/kubernetes/cmd/kube-apiserver"},
}

// NodePrograms are the programs of a real node besides a container runtime. Simulated nodes do not need them.
var NodePrograms = []Program{
	{Name: "kube-proxy", Package: "k8s.io/kubernetes/cmd/kube-proxy"},
	{Name: "kubelet", Package: "k8s.io/kubernetes/cmd/kubelet"},
}

// Program is one program of the control plane and the package that it is built from.
type Program struct {
	Name    string
	Package string
}

// Tools is a directory with all Programs and the default stages of kwok.
type Tools struct {
	Dir string
}

// Path returns the file of a program.
func (t Tools) Path(program string) string {
	return filepath.Join(t.Dir, program)
}

// Missing lists the programs of Programs and of more that do not exist yet.
func (t Tools) Missing(more ...Program) []string {
	var names []string
	for _, p := range slices.Concat(Programs, more) {
		info, err := os.Stat(t.Path(p.Name))
		if err != nil || info.Mode()&0o111 == 0 {
			names = append(names, p.Name)
		}
	}
	if _, err := os.Stat(t.stagesFile()); err != nil {
		names = append(names, stagesName)
	}
	return names
}

// Module finds tools/controlplane, the module that pins the programs: in $FLOTILLA_ROOT, else in the working
// directory or above it, since go test runs tests in the directory of their package.
func Module() (string, error) {
	dir := os.Getenv("FLOTILLA_ROOT")
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return "", fmt.Errorf("find the checkout: %w", err)
		}
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		module := filepath.Join(dir, "tools", "controlplane")
		if _, err := os.Stat(filepath.Join(module, "go.mod")); err == nil {
			return module, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%w: no tools/controlplane/go.mod in %s or above it; change into a checkout "+
				"or set FLOTILLA_ROOT", ErrNoCheckout, start)
		}
	}
}

// At returns the tools directory for the versions that the module pins, whether or not it exists.
func At(module string) (Tools, error) {
	cache, err := cachedir.Path()
	if err != nil {
		return Tools{}, err
	}
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return Tools{}, fmt.Errorf("read the versions of the control plane: %w", err)
		}
		sum.Write(data)
	}
	key := hex.EncodeToString(sum.Sum(nil))[:12]
	return Tools{Dir: filepath.Join(cache, "controlplane-"+key)}, nil
}

// Find returns the tools if all of them are built, else an error that includes the remedy.
func Find() (Tools, error) {
	module, err := Module()
	if err != nil {
		return Tools{}, err
	}
	tools, err := At(module)
	if err != nil {
		return Tools{}, err
	}
	if missing := tools.Missing(); len(missing) > 0 {
		return Tools{}, fmt.Errorf("%w: %v not in %s; run `make tools` once (some minutes)", ErrMissing, missing, tools.Dir)
	}
	return tools, nil
}
