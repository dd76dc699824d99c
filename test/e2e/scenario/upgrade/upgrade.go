// Package upgrade contains the scenario of the upgrade of all services.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/engine"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/ingester"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

const namespace = "upgrades"

// Services upgrades all services from the previous commit, rolls them back and upgrades them again, under load.
func Services(p *platform.Platform) run.Scenario {
	u := &upgrades{Platform: p, engine: &engine.Engine{Platform: p, Namespace: namespace, Replicas: 1}}
	upgrade, back := u.install(charts(p), currentTag), u.rollBack
	return run.Scenario{
		Name: namespace, Limit: 25 * time.Minute, Services: platform.AllServices(),
		Title: "Each service is upgraded by helm from the previous commit, rolled back and upgraded again, first without other " +
			"changes, then while an engine rolls out, a Superset is upgraded, objects are created and deleted, and MySQL or NATS is " +
			"killed.",
		Watch: []timeline.Object{
			{GVK: platform.Supersets, Namespace: namespace, Name: "shop"}, {GVK: platform.Engines, Namespace: namespace, Name: "etl"},
		},
		Prepare: u.prepare,
		Phases: []run.Phase{
			{Name: "previous commit", Do: u.engine.Steady},
			{Name: "upgrade", Do: u.quiet(upgrade)},
			{Name: "roll back", Do: u.quiet(back)},
			{Name: "upgrade during changes", Do: u.busy(upgrade, u.disruption(platform.MySQL), "flotilla-e2e/engine:dev-2", `{"spec":{"image":{"tag":"6.1.0"}}}`)},
			{Name: "roll back during changes", Do: u.busy(back, u.disruption(platform.NATS), "flotilla-e2e/engine:dev", `{"spec":{"forceReload":"again"}}`)},
			{Name: "upgrade again", Do: u.quiet(upgrade)},
			{Name: "verify", Do: run.InOrder(ingester.Verify(p), u.engine.Steady)},
		},
		Evaluate: evaluate,
		Clean:    u.clean, CleanLimit: 10 * time.Minute, // it may install all services
	}
}

// upgrades has an engine and a Superset under load, and creates and deletes projects.
type upgrades struct {
	*platform.Platform
	engine  *engine.Engine
	tag     string // image tag of the services that were installed last
	touches int
}

// prepare installs the previous commit, whose services create the objects of users, and starts the load generators.
func (u *upgrades) prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := u.requirePrevious(); err != nil {
		return nil, err
	}
	if err := u.install(u.Previous, previousTag)(ctx, s); err != nil {
		return nil, fmt.Errorf("install the previous commit: %w", err)
	}
	queries, err := u.engine.Prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := u.ApplyManifest(ctx, namespace, "upgrade-superset.yaml"); err != nil {
		return nil, err
	}
	if err := u.running(ctx, s); err != nil {
		return nil, err
	}
	web, err := u.StartLoadgen(ctx, s, namespace, "web-loadgen",
		"--url", fmt.Sprintf("http://shop-web-server.%s.svc.cluster.local:8088/", namespace),
		"--clients", "4", "--rate", "8", "--timeout", "20s", "--retry-drained",
		"--label", `old=superset page: version=6\.0`, "--label", `new=superset page: version=6\.1`,
		"--label", "maintenance=closed for a moment", "--good", "old,new,maintenance")
	if err != nil {
		return nil, err
	}
	return run.Together(run.Named{Name: "engine", Loadgen: queries}, run.Named{Name: "web", Loadgen: web}), nil
}

// quiet replaces the services without other changes: pods of users must not be re-created, and conditions must not change.
func (u *upgrades) quiet(replace run.Action) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		before, err := u.userState(ctx)
		if err != nil {
			return err
		}
		if err := run.InOrder(replace, u.touch)(ctx, s); err != nil {
			return err
		}
		return u.unchanged(ctx, s, before)
	}
}

// busy replaces the services while an engine rolls out, a Superset is changed, projects are created and deleted, and lose
// kills a dependency of the services.
func (u *upgrades) busy(replace, disruption run.Action, engineImage, change string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		before, err := u.engine.Serving(ctx)
		if err != nil {
			return err
		}
		if err := u.engine.Edit(ctx, s, engine.WithImage(engineImage)); err != nil {
			return err
		}
		if err := u.Patch(ctx, platform.Supersets, namespace, "shop", change); err != nil {
			return err
		}
		if err := run.InParallel(replace, u.projects, disruption)(ctx, s); err != nil {
			return err
		}
		if err := u.engine.Rolled(ctx, s, before); err != nil {
			return err
		}
		return run.InOrder(u.running, u.touch)(ctx, s)
	}
}

// disruption kills the pod of MySQL or NATS at a random time, and waits until its replacement is ready.
func (u *upgrades) disruption(labels map[string]string) run.Action {
	return func(ctx context.Context, s *run.Step) error {
		after := time.Duration(u.Intn(5000)) * time.Millisecond
		if err := s.Pass(ctx, after); err != nil {
			return err
		}
		s.Log("the pod of %s is killed after %s", labels["app"], after)
		if err := u.KillPods(ctx, u.Data, labels); err != nil {
			return err
		}
		return u.Ready(ctx, s, u.Data, labels, 1)
	}
}

// evaluate allows no failed answers, and in the last phase only the new page.
func evaluate(_ *run.Step, phases []load.Figures) error {
	problems := []error{run.NoFailure(phases)}
	last := phases[len(phases)-1]
	if n := last.Classes["web: 200 old"] + last.Classes["web: 200 maintenance"]; n > 0 {
		problems = append(problems, fmt.Errorf("phase %s: %d answers were not the new page", last.Phase, n))
	}
	return errors.Join(problems...)
}

// clean installs the services of this commit if a failure left those of the previous one, and deletes the namespace.
func (u *upgrades) clean(ctx context.Context, s *run.Step) error {
	problem := u.unlock(ctx)
	if u.tag == previousTag {
		problem = errors.Join(problem, u.install(charts(u.Platform), currentTag)(ctx, s))
	}
	return errors.Join(problem, u.RemoveNamespace(ctx, namespace))
}
