package charts

import (
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// withCRDs installs the CRDs of the service until the end of the test.
func (p env) withCRDs() {
	p.Helper()
	p.Cleanup(func() { p.uninstall(p.service + "-crds") })
	p.installCRDs("--set", "keep=false")
}

// installCRDs installs the CRDs of the service. The API server ends a write after 34 s, whatever timeout its client has, and a
// large definition takes that long on a machine with other work. Then the release has failed, and is installed again.
func (p env) installCRDs(flags ...string) {
	p.Helper()
	name := p.service + "-crds"
	args := append([]string{
		"install", name, chart(name), "--wait", "--namespace", p.namespace, "--kubeconfig", cluster.Get(p).Kubeconfig,
	}, flags...)
	expect.Eventually(p, 3*expect.Long, func() error {
		_, err := helm(p, args...)
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "request did not complete within requested timeout") {
			p.Fatal(err)
		}
		p.Logf("The installation is repeated: %v", err)
		p.uninstall(name)
		return err
	})
}
