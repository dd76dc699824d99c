// Package scenario contains the scenarios for a cluster with real pods; each subject has a package.
package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/bus"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/clone"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/engine"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/ingester"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/product"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/repair"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/superset"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/upgrade"
)

// All returns all scenarios as groups. Groups run one after the other, the scenarios of a group in parallel.
func All(p *platform.Platform) [][]run.Scenario {
	return [][]run.Scenario{
		{security(p)},
		{engine.Rollouts(p), engine.Disruptions(p), superset.Upgrades(p), superset.Operations(p)},
		{engine.Pressure(p)}, // alone, since its node accepts no pods under DiskPressure
		{ingester.Disruptions(p), clone.Databases(p), repair.Upgrades(p), product.Upgrade(p)},
		{bus.Disruptions(p)},  // alone, since it stops the bus
		{upgrade.Services(p)}, // alone, since it replaces all services
	}
}

// Choose returns the groups with only the named scenarios, or with all if names is empty.
func Choose(plan [][]run.Scenario, names []string) ([][]run.Scenario, error) {
	var all []string
	var out [][]run.Scenario
	for _, group := range plan {
		var kept []run.Scenario
		for _, s := range group {
			all = append(all, s.Name)
			if len(names) == 0 || slices.Contains(names, s.Name) {
				kept = append(kept, s)
			}
		}
		if len(kept) > 0 {
			out = append(out, kept)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("unknown scenario %q, want one of %s", name, strings.Join(all, ", "))
		}
	}
	return out, nil
}
