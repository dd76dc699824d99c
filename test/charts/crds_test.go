package charts

import (
	"strings"
	"sync"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// crdNamespace has the releases of the CRDs that tests share.
const crdNamespace = "crds"

// installed has the services whose CRDs are installed in crdNamespace. Tests of the same service do not run in parallel.
var installed sync.Map

// withCRDs installs the CRDs of the service unless an earlier test has done so: the API server validates the largest one for
// seconds. They stay for later tests.
func (p env) withCRDs() {
	p.Helper()
	if _, found := installed.Load(p.service); found {
		return
	}
	p.namespace = crdNamespace
	p.installCRDs("--set", "keep=false", "--create-namespace")
	installed.Store(p.service, true)
}

// withoutCRDs uninstalls the CRDs of the service if an earlier test has installed them.
func (p env) withoutCRDs() {
	p.Helper()
	if _, found := installed.Load(p.service); !found {
		return
	}
	p.namespace = crdNamespace
	p.uninstallCRDs()
	installed.Delete(p.service)
}

// installCRDs installs the CRDs of the service.
func (p env) installCRDs(flags ...string) {
	p.Helper()
	name := p.service + "-crds"
	args := append([]string{"install", name, chart(name), "--wait"}, flags...)
	p.write(func() error {
		_, err := p.tryHelm(args...)
		if isTimeout(err) {
			p.uninstallCRDs()
		}
		return err
	})
}

// uninstallCRDs uninstalls the CRDs of the service. Helm shows the cause of a failure only with --debug.
func (p env) uninstallCRDs() {
	p.Helper()
	p.write(func() error {
		_, err := p.tryHelm("uninstall", p.service+"-crds", "--wait", "--debug")
		return err
	})
}

// isTimeout reports whether the API server ended a write. It does after 34 s, whatever timeout its client has, and that of a
// large definition takes that long on a machine with other work.
func isTimeout(err error) bool {
	return err != nil && strings.Contains(err.Error(), "request did not complete within requested timeout")
}

// write repeats a write of CRDs that timed out.
func (p env) write(crds func() error) {
	p.Helper()
	expect.Eventually(p, 3*expect.Long, func() error {
		err := crds()
		if err != nil && !isTimeout(err) {
			p.Fatal(err)
		}
		if err != nil {
			p.Logf("The write of the CRDs is repeated: %v", err)
		}
		return err
	})
}
