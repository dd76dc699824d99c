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
	if _, found := installed.LoadAndDelete(p.service); !found {
		return
	}
	p.namespace = crdNamespace
	p.helm("uninstall", p.service+"-crds", "--wait")
}

// installCRDs installs the CRDs of the service. The API server ends a write after 34 s, whatever timeout its client has, and a
// large definition takes that long on a machine with other work. Then the release has failed, and is installed again.
func (p env) installCRDs(flags ...string) {
	p.Helper()
	name := p.service + "-crds"
	args := append([]string{"install", name, chart(name), "--wait"}, flags...)
	expect.Eventually(p, 3*expect.Long, func() error {
		_, err := p.tryHelm(args...)
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "request did not complete within requested timeout") {
			p.Fatal(err)
		}
		p.Logf("The installation is repeated: %v", err)
		p.helm("uninstall", name, "--wait")
		return err
	})
}
