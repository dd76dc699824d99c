package charts

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// TestRollback rolls back to the previous revision, also from one that never became ready. The
// objects of the chart are those of that revision, and the release can be uninstalled.
func TestRollback(t *testing.T) {
	for _, service := range services {
		t.Run(service, func(t *testing.T) {
			if service != "status-aggregator" { // whose bus takes its passwords from the environment
				t.Parallel()
			}
			p, s := newEnv(t, service), lifecycles()[service]
			if s.object != "" {
				p.withCRDs()
			}
			if s.before != nil {
				s.before(p)
			}
			p.helm(append([]string{"install", service, chart(service), "--wait", "--no-hooks"}, s.values...)...)
			p.works(p.appVersion(), 2)
			first := p.helm("get", "manifest", service)

			p.helm(append([]string{
				"upgrade", service, chart(service), "--wait", "--no-hooks",
				"--set", "image.tag=9.9.9,replicas=3,metrics.enabled=false,podDisruptionBudget.enabled=false,networkPolicy.enabled=true",
			}, s.values...)...)
			p.works("9.9.9", 3)
			p.helm("rollback", service, "--wait", "--no-hooks")
			p.works(p.appVersion(), 2)
			if now := p.helm("get", "manifest", service); now != first {
				t.Errorf("the release differs from the previous revision:\n%s", now)
			}
			p.same(first)

			_, err := helm(t, append([]string{
				"upgrade", service, chart(service), "--wait", "--timeout", "5s", "--no-hooks", "--set",
				"nodeSelector.nowhere=yes", "--namespace", p.namespace, "--kubeconfig", cluster.Get(t).Kubeconfig,
			}, s.values...)...)
			if err == nil {
				t.Error("a release with unschedulable pods succeeded")
			}
			p.helm("rollback", service, "--wait", "--no-hooks")
			p.works(p.appVersion(), 2)
			p.same(first)
			var history []struct {
				Status string `json:"status"`
			}
			if err := json.Unmarshal([]byte(p.helm("history", service, "--output", "json")), &history); err != nil {
				t.Fatal(err)
			}
			for i, one := range history {
				if strings.HasPrefix(one.Status, "pending") || (one.Status == "deployed") != (i == len(history)-1) {
					t.Errorf("history %+v", history)
				}
			}
			p.helm("uninstall", service, "--wait")
			expect.Eventually(t, expect.Long, func() error {
				if left := p.left(); len(left) > 0 {
					return errors.New(fmt.Sprint("left: ", left))
				}
				return nil
			})
		})
	}
}

// same checks that the release consists of exactly the objects of a manifest.
func (p env) same(manifest string) {
	p.Helper()
	want := map[string]bool{}
	for _, doc := range documents(p, manifest) {
		want[doc.GetKind()+" "+doc.GetName()] = true
	}
	// Objects that controllers create have the labels of their owners.
	derived := func(object string) bool {
		kind, _, _ := strings.Cut(object, " ")
		return kind == "Pod" || kind == "ReplicaSet" || kind == "EndpointSlice" || kind == "Endpoints" || kind == "PodMetrics"
	}
	expect.Eventually(p, expect.Long, func() error {
		missing := map[string]bool{}
		for object := range want {
			missing[object] = true
		}
		for _, object := range p.left() {
			if !want[object] && !derived(object) {
				return fmt.Errorf("%s still exists", object)
			}
			delete(missing, object)
		}
		if len(missing) > 0 {
			return fmt.Errorf("missing: %v", missing)
		}
		return nil
	})
}
