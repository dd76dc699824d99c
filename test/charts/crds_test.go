package charts

import (
	"slices"
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

// timeouts are parts of the errors of a write that took too long. The API server ends one after 34 s, whatever timeout its
// client has, helm ends its discovery after 32 s, and a connection without an answer to pings is lost after 45 s. A large
// definition takes that long on a machine with other work.
var timeouts = []string{
	"request did not complete within requested timeout", "context deadline exceeded", "Client.Timeout exceeded", "client connection lost",
}

func isTimeout(err error) bool {
	return err != nil && slices.ContainsFunc(timeouts, func(text string) bool { return strings.Contains(err.Error(), text) })
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
