package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/envoy"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/build"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/envfile"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/samples"
)

// errInterrupted is returned if a signal stopped `up`.
var errInterrupted = errors.New("interrupted")

const samplesTimeout = 3 * time.Minute

// up starts the stack. An interrupt takes it down, unless it was there before: then it keeps its data. After a failure
// the started components keep running for inspection. Another `up` continues from there.
func (a *app) up(ctx context.Context, services string) error {
	chosen, err := a.env.Checkout.Choose(services)
	if err != nil {
		return err
	}
	return a.guarded(ctx, func() error { return a.start(ctx, chosen) })
}

// guarded starts the stack under the lock.
func (a *app) guarded(ctx context.Context, bringUp func() error) (err error) {
	unlock, err := a.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	start, existed := time.Now(), a.env.State.RealNode || len(a.env.State.Services) > 0
	err = bringUp()
	switch {
	case ctx.Err() != nil && existed:
		return fmt.Errorf("%w; the stack from before was kept: run `make up` to continue or `make down` to remove it", errInterrupted)
	case ctx.Err() != nil:
		a.info("\ninterrupted: taking the stack down")
		// The signal has canceled ctx.
		if downErr := a.stopAll(context.WithoutCancel(ctx)); downErr != nil {
			return downErr
		}
		return fmt.Errorf("%w; the stack was taken down", errInterrupted)
	case err != nil:
		return err
	}
	a.info("\nthe stack is up (%s)", seconds(start))
	return nil
}

func (a *app) start(ctx context.Context, chosen []string) error {
	if a.env.State.RealNode {
		return errors.New("the stack runs on a real node: run `make down` to remove it or `make up NODE=real` to continue with it")
	}
	if err := a.tools(ctx, false); err != nil {
		return err
	}
	if err := a.setServices(ctx, chosen); err != nil {
		return err
	}
	cp, nats, mysql := a.infrastructure()
	for _, part := range []components.Component{cp, nats, mysql} {
		if err := a.ensure(ctx, part); err != nil {
			return err
		}
	}
	if err := a.step("CRDs and namespace "+components.SystemNamespace, func() (string, error) {
		return "applied", a.prepareCluster(ctx)
	}); err != nil {
		return err
	}
	if err := a.step("accounts of the services", func() (string, error) {
		return "have the permissions of their charts", a.prepareAccounts(ctx, chosen)
	}); err != nil {
		return err
	}
	if err := a.step("admission policies and webhooks", func() (string, error) {
		return "registered", a.prepareAdmission(ctx, chosen)
	}); err != nil {
		return err
	}
	for _, name := range chosen {
		if err := a.step("building "+name, func() (string, error) {
			return "done", build.Service(ctx, a.env.Checkout, name, a.env.Binary(name))
		}); err != nil {
			return err
		}
		if err := a.ensure(ctx, components.NewService(a.env, name, mysql.DSN)); err != nil {
			return err
		}
	}
	if err := a.plugin(ctx, chosen); err != nil {
		return err
	}
	if err := a.writeEnv(mysql.DSN()); err != nil {
		return err
	}
	return a.startSamples(ctx, mysql.DSN())
}

// plugin builds the kubectl plugin if the aggregator runs.
func (a *app) plugin(ctx context.Context, chosen []string) error {
	if !slices.Contains(chosen, components.Aggregator) {
		return nil
	}
	return a.step("building kubectl-flotilla", func() (string, error) {
		return "done", build.Plugin(ctx, a.env.Checkout, a.env.Checkout.Local("bin", "kubectl-flotilla"))
	})
}

// tools builds the programs of the components.
func (a *app) tools(ctx context.Context, onNode bool) error {
	if onNode {
		return a.nodeTools(ctx)
	}
	if _, err := controlplane.Build(ctx, a.env.Checkout.Path("tools", "controlplane"), a.info); err != nil {
		return err
	}
	return a.step("control plane tools, NATS server and Envoy", func() (string, error) {
		_, err := envoy.Install(ctx, a.info)
		return "ready", errors.Join(err, build.NATS(ctx, a.env.Checkout))
	})
}

// setServices records the services to run and stops the others.
func (a *app) setServices(ctx context.Context, chosen []string) error {
	keep := map[string]bool{}
	for _, name := range chosen {
		keep[name] = true
	}
	for _, name := range a.env.State.Services {
		if keep[name] {
			continue
		}
		if err := components.NewService(a.env, name, noDSN).Stop(ctx); err != nil {
			return err
		}
	}
	a.env.State.Services = chosen
	return a.env.State.Save()
}

func noDSN() string { return "" }

func (a *app) ensure(ctx context.Context, part components.Component) error {
	return a.step(part.Name(), func() (string, error) {
		port := a.webhookPort(part.Name())
		outcome, err := part.Ensure(ctx)
		if err == nil && a.webhookPort(part.Name()) != port { // another process uses the previous one
			err = a.registerWebhooks(ctx, part.Name())
		}
		return string(outcome), err
	})
}

// step runs do and prints the step, its result and its duration.
func (a *app) step(what string, do func() (string, error)) error {
	a.info("%s ...", what)
	start := time.Now()
	outcome, err := do()
	if err != nil {
		return err
	}
	a.info("%s: %s (%s)", what, outcome, seconds(start))
	return nil
}

func (a *app) writeEnv(dsn string) error {
	vars := envfile.Vars{
		{Name: "KUBECONFIG", Value: a.env.Kubeconfig()},
		{Name: "NATS_URL", Value: a.env.NATSURL()},
		{Name: "MYSQL_DSN", Value: dsn},
		// The commands of the ingester read its checkpoint and its change events.
		{Name: "FLOTILLA_LEADER_ELECTION_NAMESPACE", Value: components.SystemNamespace},
		{Name: "FLOTILLA_CLUSTER_NAME", Value: components.ClusterName},
	}
	for _, name := range a.env.State.Services {
		vars = append(vars,
			envfile.Var{Name: envfile.Name(name, "METRICS"), Value: a.env.MetricsURL(name)},
			envfile.Var{Name: envfile.Name(name, "HEALTH"), Value: a.env.HealthURL(name)})
		if a.env.HasAPI(name) {
			vars = append(vars, envfile.Var{Name: envfile.Name(name, "API"), Value: a.env.APIURL(name)})
		}
		if name == components.Aggregator {
			vars = append(vars,
				envfile.Var{Name: "FLOTILLA_STATUS_URL", Value: a.env.APIURL(name)},
				envfile.Var{Name: "FLOTILLA_STATUS_SERVICE_ACCOUNT", Value: components.SystemNamespace + "/" + components.Viewer})
		}
	}
	return envfile.Write(a.env.Checkout.Local("env"), vars, []string{a.env.Tools.Dir, a.env.Checkout.Local("bin")})
}

func (a *app) startSamples(ctx context.Context, dsn string) error {
	set, err := a.samples()
	if err != nil {
		return err
	}
	if err := a.step("samples", func() (string, error) { return "applied", a.applySamples(ctx, set) }); err != nil {
		return err
	}
	var reports []samples.Report
	err = a.step("waiting for the samples", func() (string, error) {
		reports, err = a.waitSamples(ctx, set, dsn)
		return "healthy", err
	})
	if len(reports) > 0 {
		a.info("")
		a.showSamples(reports)
	}
	if err != nil {
		return err
	}
	return a.showNext()
}

// waitSamples waits until every sample is healthy and prints what is missing whenever that changes.
func (a *app) waitSamples(ctx context.Context, set samples.Set, dsn string) (reports []samples.Report, err error) {
	lastProblem := ""
	err = await.Nil(ctx, samplesTimeout, 500*time.Millisecond, func(ctx context.Context) error {
		now, err := a.checkSamples(ctx, set, dsn)
		if err != nil {
			return await.Stop(err)
		}
		reports = now
		problem := firstProblem(reports)
		if problem == "" {
			return nil
		}
		if problem != lastProblem {
			a.info("  %s", problem)
			lastProblem = problem
		}
		return errors.New(problem)
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnhealthy, err)
	}
	return reports, err
}

var errUnhealthy = errors.New("the samples are not all healthy (see `make status` and `make logs S=<service>`)")

func firstProblem(reports []samples.Report) string {
	for _, r := range reports {
		if r.Problem != "" {
			return fmt.Sprintf("%s %s/%s: %s", r.Kind, r.Namespace, r.Name, r.Problem)
		}
	}
	return ""
}

func (a *app) removeEnv() error {
	return os.RemoveAll(a.env.Checkout.Local("env"))
}
