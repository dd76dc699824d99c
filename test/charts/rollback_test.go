package charts

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// upgradeAndRollBack upgrades an installed release with other values and rolls it back, also from a revision that never
// became ready. The objects of the chart are those of the first revision.
func (p env) upgradeAndRollBack(s lifecycle) {
	p.Helper()
	first := p.helm("get", "manifest", p.service)
	p.helm(append([]string{
		"upgrade", p.service, chart(p.service), "--wait",
		"--set", "image.tag=9.9.9,replicas=3,metrics.enabled=false,podDisruptionBudget.enabled=false,networkPolicy.enabled=true",
	}, s.values...)...)
	p.works("9.9.9", 3)
	p.helm("rollback", p.service, "--wait", "--no-hooks")
	p.works(p.appVersion(), 2)
	if now := p.helm("get", "manifest", p.service); now != first {
		p.Errorf("the release differs from the previous revision:\n%s", now)
	}
	p.same(first)

	_, err := p.tryHelm(append([]string{
		"upgrade", p.service, chart(p.service), "--wait", "--timeout", "5s", "--no-hooks", "--set",
		"nodeSelector.nowhere=yes",
	}, s.values...)...)
	if err == nil {
		p.Error("a release with unschedulable pods succeeded")
	}
	p.helm("rollback", p.service, "--wait", "--no-hooks")
	p.works(p.appVersion(), 2)
	p.same(first)
	var history []struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(p.helm("history", p.service, "--output", "json")), &history); err != nil {
		p.Fatal(err)
	}
	for i, one := range history {
		if strings.HasPrefix(one.Status, "pending") || (one.Status == "deployed") != (i == len(history)-1) {
			p.Errorf("history %+v", history)
		}
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
	kinds := p.listable()
	expect.Eventually(p, expect.Long, func() error {
		missing := map[string]bool{}
		for object := range want {
			missing[object] = true
		}
		for _, object := range p.left(kinds...) {
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
