package run

import (
	"context"
	"fmt"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

// Named is a load generator with the name that prefixes its classes and failures.
type Named struct {
	Name string
	Loadgen
	// Labeled means that its labels contain the name, so its classes get no prefix.
	Labeled bool
}

// Together combines load generators that run at the same time. The counts of a phase are those of all; its longest gap
// is the longest of any one of them.
func Together(loadgens ...Named) Loadgen { return together(loadgens) }

type together []Named

func (t together) Reset(ctx context.Context, phase string) ([]load.Figures, error) {
	return t.each(func(a Loadgen) ([]load.Figures, error) { return a.Reset(ctx, phase) })
}

func (t together) Phase(ctx context.Context, phase string) ([]load.Figures, error) {
	return t.each(func(a Loadgen) ([]load.Figures, error) { return a.Phase(ctx, phase) })
}

func (t together) Figures(ctx context.Context) ([]load.Figures, error) {
	return t.each(func(a Loadgen) ([]load.Figures, error) { return a.Figures(ctx) })
}

func (t together) each(request func(Loadgen) ([]load.Figures, error)) ([]load.Figures, error) {
	var all [][]load.Figures // by phase, then by load generator
	for i, one := range t {
		figures, err := request(one.Loadgen)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		if i == 0 {
			all = make([][]load.Figures, len(figures))
		}
		if len(figures) != len(all) {
			return nil, fmt.Errorf("%s has figures of %d phases, %s of %d", one.Name, len(figures), t[0].Name, len(all))
		}
		for phase, f := range figures {
			if i > 0 && f.Phase != all[phase][0].Phase {
				return nil, fmt.Errorf("%s is in phase %q, %s in %q", one.Name, f.Phase, t[0].Name, all[phase][0].Phase)
			}
			all[phase] = append(all[phase], one.named(f))
		}
	}
	var out []load.Figures
	for _, figures := range all {
		sum := load.Sum(figures[0].Phase, figures...)
		sum.Seconds = figures[0].Seconds // the load generators run at the same time
		out = append(out, sum)
	}
	return out, nil
}

// named prefixes the classes and failures of a load generator with its name. A phase without answers counts as one
// failure: the answers of the other load generators would hide it.
func (one Named) named(f load.Figures) load.Figures {
	prefix := one.Name + ": "
	var failures []string
	for _, failure := range f.Failures {
		failures = append(failures, prefix+failure)
	}
	f.Failures = failures
	if f.Answers == 0 {
		f.Failed++
		f.Failures = append(f.Failures, prefix+"no requests were answered")
	}
	if one.Labeled {
		return f
	}
	classes := map[string]int{}
	for class, n := range f.Classes {
		classes[prefix+class] = n
	}
	f.Classes = classes
	return f
}
