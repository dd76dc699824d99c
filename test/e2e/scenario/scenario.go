// Package scenario lists what must go well on a cluster with real pods; each service has files or a package.
package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/engine"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/superset"
)

// All returns every scenario, in the order in which they are played; those of a group are played in parallel.
func All(p *platform.Platform) [][]run.Scenario {
	return [][]run.Scenario{
		{security(p)},
		{engine.Rollouts(p), engine.Disruptions(p), superset.Upgrades(p), superset.Operations(p)},
		{engine.Pressure(p)}, // alone, since its node takes no pods meanwhile
		{ingesterDisruptions(p), superset.Clone(p), superset.Repair(p), supersetProduct(p)},
		{busDisruptions(p)},  // alone, since it stops the bus
		{serviceUpgrades(p)}, // alone, since it exchanges all services
	}
}

// Choose keeps the scenarios of these names, or all when there is no name.
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
			return nil, fmt.Errorf("no scenario %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	return out, nil
}
