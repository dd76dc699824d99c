// Package clone contains the scenario of clones of databases on a schedule.
package clone

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/superset"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

const (
	namespace  = "superset-clone"
	image      = "flotilla-e2e/superset-stub:6.0.0"
	noSchedule = "no schedule"

	// production fills the source database. An order references a row of logs, whose rows are excluded from the clone.
	production = `
CREATE TABLE logs (id INT PRIMARY KEY, line VARCHAR(64) NOT NULL);
CREATE TABLE orders (id INT PRIMARY KEY, price INT NOT NULL, log_id INT, CONSTRAINT logged FOREIGN KEY (log_id) REFERENCES logs (id));
CREATE TABLE tab_state (id INT PRIMARY KEY, owner VARCHAR(64) NOT NULL);
INSERT INTO logs VALUES (1, 'read'), (2, 'written');
INSERT INTO orders VALUES (1, 10, 2), (2, 20, NULL);
INSERT INTO tab_state VALUES (1, 'user');`

	// change changes rows of production between two clones.
	change = `
UPDATE orders SET price = 11 WHERE id = 1;
DELETE FROM orders WHERE id = 2;
INSERT INTO logs VALUES (3, 'written');
INSERT INTO orders VALUES (3, 30, 3);`
)

// metastoreCopy is a Superset whose metastore is cloned from production, on the same database server.
type metastoreCopy struct {
	*superset.Web
	kind, host, user string
	sql              func(ctx context.Context, database, statement string) (string, error)
	installDuration  time.Duration // time from the first clone until the page was served
	// grants grants the permissions of the user that reads the source; like is the SQL expression that lists the orders.
	grants, like string
}

func metastoreCopies(p *platform.Platform) []*metastoreCopy {
	web := func(name string) *superset.Web { return &superset.Web{Platform: p, Namespace: namespace, Name: name} }
	return []*metastoreCopy{
		{
			Web: web("elephant"), kind: "PostgreSQL", host: "postgres", user: "superset",
			sql: func(ctx context.Context, database, statement string) (string, error) {
				return p.InPostgres(ctx, namespace, database, statement)
			},
			grants: "CREATE ROLE reader LOGIN PASSWORD 'change-me'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;",
			like:   "string_agg(id || ':' || price, ' ' ORDER BY id)",
		},
		{
			Web: web("dolphin"), kind: "MySQL", host: "mysql", user: "root",
			sql: func(ctx context.Context, database, statement string) (string, error) {
				return inMySQL(ctx, p, namespace, database, statement)
			},
			grants: "CREATE USER reader IDENTIFIED BY 'change-me'; GRANT SELECT, SHOW VIEW, TRIGGER ON production.* TO reader;",
			like:   "GROUP_CONCAT(CONCAT(id, ':', price) ORDER BY id SEPARATOR ' ')",
		},
	}
}

// Databases clones a database of each kind on a schedule.
func Databases(p *platform.Platform) run.Scenario {
	all := metastoreCopies(p)
	s := run.Scenario{
		Name: namespace, Limit: 25 * time.Minute, Services: []string{"superset-operator"},
		Title: "A PostgreSQL and a MySQL database are cloned into the metastores of two Supersets on a schedule, without the " +
			"rows of one table and without another table, while users request their pages.",
		Prepare: func(ctx context.Context, s *run.Step) (run.Loadgen, error) { return startCopies(ctx, p, s, all) },
		Phases: []run.Phase{
			{Name: "schedule", Do: eachCopy(all, (*metastoreCopy).scheduled)},
			{Name: "changed rows", Do: eachCopy(all, (*metastoreCopy).changed)},
			{Name: noSchedule, Do: eachCopy(all, (*metastoreCopy).unscheduled)},
		},
		Evaluate: func(s *run.Step, phases []load.Figures) error {
			return superset.EvaluateWeb(copyRules(all, phases))(s, phases)
		},
		Clean: func(ctx context.Context, _ *run.Step) error { return p.RemoveNamespace(ctx, namespace) },
	}
	for _, c := range all {
		s.Watch = append(s.Watch, timeline.Object{GVK: platform.Supersets, Namespace: namespace, Name: c.Name})
	}
	return s
}

// eachCopy calls do for all Supersets in parallel.
func eachCopy(all []*metastoreCopy, do func(*metastoreCopy, context.Context, *run.Step) error) run.Action {
	var actions []run.Action
	for _, c := range all {
		actions = append(actions, func(ctx context.Context, s *run.Step) error { return do(c, ctx, s) })
	}
	return run.InParallel(actions...)
}

// startCopies fills the databases, installs the Supersets, and starts a load generator for each.
func startCopies(ctx context.Context, p *platform.Platform, s *run.Step, all []*metastoreCopy) (run.Loadgen, error) {
	if err := p.MakeNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	if err := p.ApplySample(ctx, namespace, "superset-databases.yaml", "valkey"); err != nil {
		return nil, err
	}
	if err := eachCopy(all, (*metastoreCopy).install)(ctx, s); err != nil {
		return nil, err
	}
	var both []run.Named
	for _, c := range all {
		var err error
		c.Loadgen, err = p.StartLoadgen(ctx, s, namespace, "loadgen-"+c.host,
			"--url", fmt.Sprintf("http://%s-web-server.%s.svc.cluster.local:8088/", c.Name, namespace),
			"--clients", "4", "--rate", "6", "--timeout", "20s", "--retry-drained",
			"--label", c.kind+" page=superset page: version=", "--label", c.kind+" maintenance=<h1>"+c.Name+" is being copied</h1>",
			"--good", c.kind+" page", "--good", c.kind+" maintenance")
		if err != nil {
			return nil, err
		}
		both = append(both, run.Named{Name: c.kind, Loadgen: c.Loadgen, Labeled: true})
	}
	return run.Together(both...), nil
}

func (c *metastoreCopy) install(ctx context.Context, s *run.Step) error {
	if err := c.Ready(ctx, s, namespace, map[string]string{"app": c.host}, 1); err != nil {
		return err
	}
	admin := map[string]string{"PostgreSQL": "superset", "MySQL": "mysql"}[c.kind]
	if _, err := c.sql(ctx, admin, "CREATE DATABASE production"); err != nil {
		return err
	}
	if _, err := c.sql(ctx, "production", production+c.grants); err != nil {
		return err
	}
	if err := c.ApplyManifest(ctx, namespace, "superset-clone.yaml",
		"${NAME}", c.Name, "${TYPE}", c.kind, "${HOST}", c.host, "${USER}", c.user); err != nil {
		return err
	}
	startedAt := s.Now()
	if err := c.Until(ctx, s, c.Name+" is installed", func(o *unstructured.Unstructured) error {
		return superset.Runs(o, image)
	}); err != nil {
		return err
	}
	c.installDuration = s.Now().Sub(startedAt)
	return c.waitForCopy(ctx, s, "1:10 2:20")
}

// waitForCopy waits until the metastore contains these orders, no rows of logs, no table tab_state, and the connections that
// the init task creates.
func (c *metastoreCopy) waitForCopy(ctx context.Context, s *run.Step, orders string) error {
	want := orders + "|0|0|3"
	return s.Until(ctx, "the clone in "+c.kind+" contains "+want, func(ctx context.Context) error {
		got, err := c.sql(ctx, "staging", fmt.Sprintf(`SELECT (SELECT %s FROM orders), (SELECT count(*) FROM logs),
			(SELECT count(*) FROM information_schema.tables WHERE table_name = 'tab_state' AND table_schema IN ('public', 'staging')),
			(SELECT count(*) FROM dbs)`, c.like))
		if err != nil {
			return err
		}
		if got = strings.ReplaceAll(got, "\t", "|"); got != want {
			return fmt.Errorf("it contains %q", got)
		}
		return nil
	})
}

// scheduled sets a schedule. A scheduled time is already due, so the first scheduled clone starts immediately.
func (c *metastoreCopy) scheduled(ctx context.Context, s *run.Step) error {
	period := scheduleMinutes(c.installDuration)
	s.Note("%s: installed in %.0f s, then cloned every %d minutes.", c.kind, c.installDuration.Seconds(), period)
	patch := fmt.Sprintf(`{"spec":{"lifecycle":{"clone":{"cronSchedule":"*/%d * * * *"}}}}`, period)
	if err := c.Patch(ctx, platform.Supersets, namespace, c.Name, patch); err != nil {
		return err
	}
	if err := c.Until(ctx, s, c.Name+" is cloned on its schedule", func(o *unstructured.Unstructured) error {
		if platform.Text(o, "status", "lifecycle", "clone", "lastScheduledAt") == "" {
			return errors.New("lastScheduledAt is empty")
		}
		return errors.Join(platform.IsTrue(o, "ScheduleValid"), superset.Runs(o, image))
	}); err != nil {
		return err
	}
	if err := c.waitForCopy(ctx, s, "1:10 2:20"); err != nil {
		return err
	}
	return c.getsPage(ctx, s)
}

// getsPage waits until the page was served in the current phase.
func (c *metastoreCopy) getsPage(ctx context.Context, s *run.Step) error {
	return c.Gets(c.kind+" page")(ctx, s)
}

// changed changes rows in production and waits until a scheduled clone contains them.
func (c *metastoreCopy) changed(ctx context.Context, s *run.Step) error {
	before, err := c.lastTick(ctx)
	if err != nil {
		return err
	}
	if _, err := c.sql(ctx, "production", change); err != nil {
		return err
	}
	startedAt := s.Now()
	if err := c.waitForCopy(ctx, s, "1:11 3:30"); err != nil {
		return err
	}
	s.Note("%s: a scheduled clone contained the changed rows after %.0f s.", c.kind, s.Now().Sub(startedAt).Seconds())
	if err := c.Until(ctx, s, c.Name+" is available after a later scheduled time than "+before, func(o *unstructured.Unstructured) error {
		if tick := platform.Text(o, "status", "lifecycle", "clone", "lastScheduledAt"); tick <= before {
			return fmt.Errorf("lastScheduledAt is %s", tick)
		}
		return platform.IsTrue(o, "Available")
	}); err != nil {
		return err
	}
	return c.getsPage(ctx, s)
}

// lastTick returns the scheduled time of the last clone. Its format sorts by time.
func (c *metastoreCopy) lastTick(ctx context.Context) (string, error) {
	o, err := c.Get(ctx, platform.Supersets, namespace, c.Name)
	if err != nil {
		return "", err
	}
	tick := platform.Text(o, "status", "lifecycle", "clone", "lastScheduledAt")
	if tick == "" {
		err = errors.New("lastScheduledAt is empty")
	}
	return tick, err
}

// unscheduled removes the schedule. A running task completes, and no other clone starts.
func (c *metastoreCopy) unscheduled(ctx context.Context, s *run.Step) error {
	if err := c.Patch(ctx, platform.Supersets, namespace, c.Name, `{"spec":{"lifecycle":{"clone":{"cronSchedule":null}}}}`); err != nil {
		return err
	}
	if err := c.Until(ctx, s, c.Name+" matches its spec without a schedule", func(o *unstructured.Unstructured) error {
		return superset.Runs(o, image)
	}); err != nil {
		return err
	}
	if _, err := c.Restricted(ctx, namespace); err != nil {
		return err
	}
	if err := c.waitForCopy(ctx, s, "1:11 3:30"); err != nil {
		return err
	}
	return c.getsPage(ctx, s)
}
