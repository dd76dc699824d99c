package purge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/purge"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

var now = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// env returns an environment with live, evicted, young, old and waiting rows in model, and one old row in project.
func env(t *testing.T) (command.Env, *testclock.FakeClock) {
	t.Helper()
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string, args ...any) {
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	old, young := now.AddDate(0, -2, 0), now.AddDate(0, 0, -2)
	insert := func(table, uid, namespace string, deleted, evicted any) {
		exec("INSERT INTO "+table+" (uid, namespace, name, group_ver, res_version, create_time, update_time, proto, json, delete_time, evict_time)"+
			" VALUES (?, ?, ?, 'v2', 7, '2026-01-01', '2026-01-02', '', '{}', ?, ?)", uid, namespace, uid, deleted, evicted)
		exec("INSERT INTO "+table+"_labels (obj_uid, `key`, value) VALUES (?, 'a', 'b')", uid)
		exec("INSERT INTO "+table+"_annotations (obj_uid, `key`, value) VALUES (?, 'a', 'b')", uid)
	}
	insert("model", "live", "one", nil, nil)
	insert("model", "evicted", "one", nil, old)
	insert("model", "young", "one", young, nil)
	insert("model", "waiting", "one", old, nil)
	for i := range 7 {
		insert("model", "old-"+string(rune('a'+i)), "one", old.Add(time.Duration(i/3)*time.Second), nil)
	}
	insert("model", "other", "two", old, nil)
	insert("project", "p", "one", old, old)
	exec("INSERT INTO outbox (kind, namespace, name, uid, generation, res_version, operation, committed_at) VALUES ('model', 'one', 'waiting', 'waiting', 1, 7, 'deleted', '2026-01-01')")
	clock := testclock.NewFakeClock(now)
	return command.Env{DB: db, Kinds: kinds, Clock: clock, Log: logr.Discard()}, clock
}

func remainingRows(t *testing.T, e command.Env) map[string]string {
	t.Helper()
	out := map[string]string{}
	for table, column := range map[string]string{
		"model": "uid", "model_labels": "obj_uid", "model_annotations": "obj_uid", "project": "uid", "project_labels": "obj_uid",
	} {
		out[table] = strings.Join(dbtest.Strings(t, e.DB, "SELECT "+column+" FROM "+table+" ORDER BY "+column), " ")
	}
	return out
}

func rest(model, project string) map[string]string {
	return map[string]string{"model": model, "model_labels": model, "model_annotations": model, "project": project, "project_labels": project}
}

func TestPurgeDeletesOldClosedRowsWithoutPendingEvents(t *testing.T) {
	e, _ := env(t)
	c := purge.Command{OlderThan: 30 * 24 * time.Hour, Batch: 2, DryRun: true}
	c.Format = command.JSON
	c.Namespaces = []string{"one"}
	run := func() map[string]purge.Counts {
		var out strings.Builder
		if err := c.Run(t.Context(), e, &out); err != nil {
			t.Fatal(err)
		}
		var result purge.Result
		if err := json.Unmarshal([]byte(out.String()), &result); err != nil {
			t.Fatal(err)
		}
		byKind := map[string]purge.Counts{}
		for _, k := range result.Kinds {
			if k.Rows+k.Waiting > 0 {
				byKind[k.Kind] = k
			}
		}
		return byKind
	}
	want := map[string]purge.Counts{"Model": {Kind: "Model", Rows: 7, Waiting: 1}, "Project": {Kind: "Project", Rows: 1}}
	before := remainingRows(t, e)
	if diff := cmp.Diff(want, run()); diff != "" {
		t.Errorf("dry run: %s", diff)
	}
	if diff := cmp.Diff(before, remainingRows(t, e)); diff != "" {
		t.Errorf("after a dry run: %s", diff)
	}
	c.DryRun = false
	if diff := cmp.Diff(want, run()); diff != "" {
		t.Errorf("purge: %s", diff)
	}
	if diff := cmp.Diff(rest("evicted live other waiting young", ""), remainingRows(t, e)); diff != "" {
		t.Errorf("rows left: %s", diff)
	}
	if diff := cmp.Diff(map[string]purge.Counts{"Model": {Kind: "Model", Waiting: 1}}, run()); diff != "" {
		t.Errorf("purge again: %s", diff)
	}
}

func TestPurgeRejectsInvalidFlags(t *testing.T) {
	e, _ := env(t)
	withoutDB := e
	withoutDB.DB = nil
	tests := map[string]struct {
		env    command.Env
		change func(*purge.Command)
		want   string
	}{
		"too young":       {e, func(c *purge.Command) { c.OlderThan = time.Minute }, "--older-than of 1m0s requires --force: less than 1h0m0s"},
		"in the future":   {e, func(c *purge.Command) { c.OlderThan, c.Force = -time.Minute, true }, "--older-than must not be negative"},
		"an unknown kind": {e, func(c *purge.Command) { c.Kinds = []string{"Modell"} }, `--kinds: unknown kind "Modell", want one of Model,`},
		"a wrong format":  {e, func(c *purge.Command) { c.Format = "yaml" }, `--output must be text or json, got "yaml"`},
		"a huge batch":    {e, func(c *purge.Command) { c.Batch = 1 << 20 }, "--batch must be 1 to 5000"},
		"no MySQL":        {withoutDB, func(*purge.Command) {}, "this command requires MySQL: set --mysql-dsn"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := purge.Command{OlderThan: 24 * time.Hour}
			tc.change(&c)
			err := c.Run(t.Context(), tc.env, &strings.Builder{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestSweeperPurgesHourly(t *testing.T) {
	e, clock := env(t)
	ready := make(chan struct{})
	sweeper := &purge.Sweeper{
		DB: e.DB, Kinds: e.Kinds, Retention: 30 * 24 * time.Hour, Namespaces: []string{"one"}, Ready: ready, Clock: clock, Log: logr.Discard(),
	}
	if !sweeper.NeedLeaderElection() {
		t.Error("every replica sweeps")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- sweeper.Start(ctx) }()
	close(ready)
	waitFor := func(model string) {
		t.Helper()
		expect.Eventually(t, expect.Long, func() error {
			if diff := cmp.Diff(rest(model, ""), remainingRows(t, e)); diff != "" {
				return command.IncompleteError(diff)
			}
			return nil
		})
	}
	waitFor("evicted live other waiting young")
	if _, err := e.DB.ExecContext(t.Context(), "DELETE FROM outbox"); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		if !clock.HasWaiters() {
			return command.IncompleteError("the sweeper does not wait")
		}
		return nil
	})
	clock.Step(time.Hour)
	waitFor("evicted live other young")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := (&purge.Sweeper{}).Start(t.Context()); err != nil {
		t.Errorf("without a retention: %v", err)
	}
}
