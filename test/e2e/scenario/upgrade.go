package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/engine"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

const upgradeNamespace = "upgrades"

// serviceUpgrades exchanges all services for those of the previous commit and back, while users work.
func serviceUpgrades(p *platform.Platform) run.Scenario {
	u := &upgrades{Platform: p, engine: &engine.Engine{Platform: p, Namespace: upgradeNamespace, Replicas: 1}}
	upgrade, back := u.install(charts(p), presentTag), u.rollBack
	return run.Scenario{
		Name: upgradeNamespace, Limit: 25 * time.Minute, Services: allServices(),
		Title: "Each service is upgraded by helm from the previous commit, rolled back and upgraded again, first while " +
			"nothing else changes, then while an engine rolls, a Superset is upgraded, objects come and go, and MySQL or NATS is killed.",
		Watch: []timeline.Object{
			{GVK: platform.Supersets, Namespace: upgradeNamespace, Name: "shop"}, {GVK: platform.Engines, Namespace: upgradeNamespace, Name: "etl"},
		},
		Prepare: u.prepare,
		Phases: []run.Phase{
			{Name: "the previous commit", Do: u.engine.Steady},
			{Name: "upgrade", Do: u.quiet(upgrade)},
			{Name: "roll back", Do: u.quiet(back)},
			{Name: "upgrade while all changes", Do: u.busy(upgrade, u.lose(mysql), "flotilla-e2e/engine:dev-2", `{"spec":{"image":{"tag":"6.1.0"}}}`)},
			{Name: "roll back while all changes", Do: u.busy(back, u.lose(natsLabels), "flotilla-e2e/engine:dev", `{"spec":{"forceReload":"again"}}`)},
			{Name: "upgrade again", Do: u.quiet(upgrade)},
			{Name: "verify", Do: u.verify},
		},
		Judge: u.judge,
		Clean: u.clean, CleanLimit: 10 * time.Minute, // it may exchange all services
	}
}

// serviceUpgrades has an engine and a Superset under load, and projects that come and go.
type upgrades struct {
	*platform.Platform
	engine  *engine.Engine
	tag     string // of the services that were installed last
	touches int
}

// Prepare lets users begin on the previous commit, so that what they have was made by it.
func (u *upgrades) prepare(ctx context.Context, s *run.Step) (run.Loadgen, error) {
	if err := u.havePrevious(); err != nil {
		return nil, err
	}
	if err := u.install(u.Previous, previousTag)(ctx, s); err != nil {
		return nil, fmt.Errorf("go to the previous commit: %w", err)
	}
	queries, err := u.engine.Prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := u.ApplyManifest(ctx, upgradeNamespace, "upgrade-superset.yaml"); err != nil {
		return nil, err
	}
	if err := u.running(ctx, s); err != nil {
		return nil, err
	}
	web, err := u.StartLoadgen(ctx, s, upgradeNamespace, "web-loadgen",
		"--url", fmt.Sprintf("http://shop-web-server.%s.svc.cluster.local:8088/", upgradeNamespace),
		"--clients", "4", "--rate", "8", "--timeout", "20s", "--retry-drained",
		"--label", `old=superset page: version=6\.0`, "--label", `new=superset page: version=6\.1`,
		"--label", "maintenance=closed for a moment", "--good", "old,new,maintenance")
	if err != nil {
		return nil, err
	}
	return run.Together(run.Named{Name: "engine", Loadgen: queries}, run.Named{Name: "web", Loadgen: web}), nil
}

// quiet upgrades the services while nothing else changes: no pod of users may be re-created, and no condition changes.
func (u *upgrades) quiet(exchange work) work {
	return func(ctx context.Context, s *run.Step) error {
		before, err := u.standing(ctx)
		if err != nil {
			return err
		}
		if err := exchange(ctx, s); err != nil {
			return err
		}
		if err := u.touch(ctx, s); err != nil {
			return err
		}
		return u.unchanged(ctx, s, before)
	}
}

// busy exchanges the services while an engine rolls, a Superset follows a change, projects come and go, and something
// that services need is lost.
func (u *upgrades) busy(exchange, lose work, engineImage, change string) work {
	return func(ctx context.Context, s *run.Step) error {
		before, err := u.engine.Serving(ctx)
		if err != nil {
			return err
		}
		if err := u.engine.Edit(ctx, s, platform.Engines, "etl", engine.WithImage(engineImage)); err != nil {
			return err
		}
		if err := u.Patch(ctx, platform.Supersets, upgradeNamespace, "shop", change); err != nil {
			return err
		}
		if err := inParallel(ctx, s, exchange, u.projects, lose); err != nil {
			return err
		}
		if err := u.engine.Rolled(ctx, s, before); err != nil {
			return err
		}
		if err := u.running(ctx, s); err != nil {
			return err
		}
		return u.touch(ctx, s)
	}
}

// lose kills the pod of MySQL or NATS at a random moment, and waits until it is back.
func (u *upgrades) lose(labels map[string]string) work {
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

// verify runs `ingester verify`, and checks for a while what users get in the end.
func (u *upgrades) verify(ctx context.Context, s *run.Step) error {
	if err := (&ingester{Platform: u.Platform}).verify(ctx, s); err != nil {
		return err
	}
	return u.engine.Steady(ctx, s)
}

// inParallel runs all functions in parallel.
func inParallel(ctx context.Context, s *run.Step, all ...work) error {
	problems := make([]error, len(all))
	var group sync.WaitGroup
	for i, do := range all {
		group.Go(func() { problems[i] = do(ctx, s) })
	}
	group.Wait()
	return errors.Join(problems...)
}

// judge wants no failure, and only the new page after the Superset's upgrade.
func (u *upgrades) judge(phases []load.Figures) error {
	problems := []error{run.NoFailure(phases)}
	last := phases[len(phases)-1]
	if n := last.Classes["web: 200 old"] + last.Classes["web: 200 maintenance"]; n > 0 {
		problems = append(problems, fmt.Errorf("phase %s: %d answers were not the new page", last.Phase, n))
	}
	return errors.Join(problems...)
}

// clean leaves the services of this commit, also when something went wrong between.
func (u *upgrades) clean(ctx context.Context, s *run.Step) error {
	problem := u.unlock(ctx)
	if u.tag == previousTag {
		problem = errors.Join(problem, u.install(charts(u.Platform), presentTag)(ctx, s))
	}
	return errors.Join(problem, u.RemoveNamespace(ctx, upgradeNamespace))
}
