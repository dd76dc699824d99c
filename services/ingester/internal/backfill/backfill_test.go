package backfill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/backfill"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

var firstCreation = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

// newEnv returns an environment with n Models, one created each second, whose columns and protobuf are wrong.
func newEnv(t *testing.T, n int) command.Env {
	t.Helper()
	_, dsn := dbtest.Migrated(t)
	env, err := command.Open(context.WithoutCancel(t.Context()), command.Config{MySQL: database.Settings{DSN: dsn}, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	})
	env.Store.SetIncarnation(1)
	for i := range n {
		m := dbtest.Model(fmt.Sprintf("m%02d", i), fmt.Sprintf("uid-%02d", i), 7)
		m.SetCreationTimestamp(metav1.NewTime(firstCreation.Add(time.Duration(i) * time.Second)))
		if err := env.Store.Upsert(t.Context(), m, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, env, "UPDATE model SET algorithm = 'wrong', proto = 'wrong'")
	exec(t, env, "UPDATE model_labels SET value = 'wrong'")
	return env
}

func exec(t *testing.T, env command.Env, statement string) {
	t.Helper()
	if _, err := env.DB.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// wrong counts the rows that are not rewritten yet: columns, protobuf, labels.
func wrong(t *testing.T, env command.Env) string {
	t.Helper()
	return dbtest.Strings(t, env.DB, "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM model WHERE algorithm = 'wrong'),"+
		" (SELECT COUNT(*) FROM model WHERE proto = 'wrong'), (SELECT COUNT(DISTINCT obj_uid) FROM model_labels WHERE value = 'wrong'))")[0]
}

func newCommand(what string) *backfill.Command {
	c := &backfill.Command{Parts: what, Batch: 5}
	c.Format = command.JSON
	return c
}

// run runs the command and returns the counts of Model.
func run(ctx context.Context, t *testing.T, c *backfill.Command, env command.Env) (backfill.Counts, error) {
	t.Helper()
	var out strings.Builder
	failure := c.Run(ctx, env, &out)
	var result backfill.Result
	if err := json.Unmarshal([]byte(out.String()), &result); out.Len() > 0 && err != nil {
		t.Fatal(err)
	}
	for _, k := range result.Kinds {
		if k.Kind == "Model" {
			return k, failure
		}
	}
	return backfill.Counts{}, failure
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestBackfillRewritesSelectedParts(t *testing.T) {
	for what, want := range map[string]string{"index": "0 12 12", "blob": "12 0 12", "all": "0 0 0"} {
		t.Run(what, func(t *testing.T) {
			env := newEnv(t, 12)
			counts, err := run(t.Context(), t, newCommand(what), env)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "tally", backfill.Counts{Kind: "Model", Rows: 12, Done: true}, counts)
			equal(t, "wrong", want, wrong(t, env))
		})
	}
}

func TestRowsAreSelected(t *testing.T) {
	env := newEnv(t, 12)
	exec(t, env, "UPDATE model SET delete_time = NOW(6) WHERE uid = 'uid-11'")
	exec(t, env, "UPDATE model SET namespace = 'elsewhere' WHERE uid = 'uid-10'")
	c := newCommand("index")
	c.ExcludeDeleted, c.Namespaces, c.StartTime = true, []string{"default"}, firstCreation.Add(3*time.Second).Format(time.RFC3339)
	if _, err := run(t.Context(), t, c, env); err != nil {
		t.Fatal(err)
	}
	equal(t, "wrong", []string{"uid-00", "uid-01", "uid-02", "uid-10", "uid-11"}, dbtest.Strings(t, env.DB, "SELECT uid FROM model WHERE algorithm = 'wrong' ORDER BY uid"))
}

// breaking returns a context that ends after the first batch, as after a signal to the process.
func breaking(t *testing.T, env *command.Env) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	env.Log = funcr.New(func(string, string) { cancel() }, funcr.Options{})
	return ctx
}

func TestBackfillResumesFromState(t *testing.T) {
	env := newEnv(t, 12)
	broken := env
	c := newCommand("all")
	c.State = filepath.Join(t.TempDir(), "state.json")
	counts, err := run(breaking(t, &broken), t, c, broken)
	if err == nil || !strings.HasSuffix(err.Error(), "run the same command again to resume from --state "+c.State) {
		t.Errorf("error %v", err)
	}
	if counts.Done || counts.Next == nil || !counts.Next.Equal(firstCreation.Add(5*time.Second)) {
		t.Errorf("counts %+v", counts)
	}
	equal(t, "wrong after the break", "7 7 7", wrong(t, env))
	counts, err = run(t.Context(), t, c, env)
	equal(t, "error", nil, err)
	equal(t, "tally", backfill.Counts{Kind: "Model", Rows: 7, Done: true}, counts)
	equal(t, "wrong", "0 0 0", wrong(t, env))
	counts, _ = run(t.Context(), t, c, env)
	equal(t, "again", backfill.Counts{Kind: "Model", Done: true}, counts)

	other := newCommand("index")
	other.State = c.State
	if _, err := run(t.Context(), t, other, env); err == nil || !strings.Contains(err.Error(), "belongs to another backfill (command all,") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(c.State, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), t, c, env); err == nil || !strings.Contains(err.Error(), "is not a state file") {
		t.Errorf("error %v", err)
	}
}

func TestBackfillErrorsNameResumeFlags(t *testing.T) {
	env := newEnv(t, 12)
	broken := env
	_, err := run(breaking(t, &broken), t, newCommand("all"), broken)
	if want := "to resume, run with --kinds Model --start-time 2026-11-22T08:00:05Z, then with the following kinds"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want one that ends with %q", err, want)
	}
}

func TestBackfillContinuesAfterRejectedObjects(t *testing.T) {
	env := newEnv(t, 12)
	exec(t, env, "UPDATE model SET json = JSON_SET(json, '$.spec.surprise', 1) WHERE uid IN ('uid-02', 'uid-09')")
	counts, err := run(t.Context(), t, newCommand("all"), env)
	if err == nil || err.Error() != "objects that cannot be stored were not changed" {
		t.Errorf("error %v", err)
	}
	equal(t, "wrong", "2 2 2", wrong(t, env))
	text := strings.Join(counts.Rejected, "\n")
	if !strings.Contains(text, "default/m02") || !strings.Contains(text, "default/m09") || !strings.Contains(text, "spec.surprise") {
		t.Errorf("rejected: %s", text)
	}
}

func TestBackfillRejectsInvalidFlags(t *testing.T) {
	env := newEnv(t, 0)
	tests := map[string]struct {
		change func(*backfill.Command)
		want   string
	}{
		"an unknown command":      {func(c *backfill.Command) { c.Parts = "everything" }, `--command must be index, blob or all, got "everything"`},
		"an invalid time":         {func(c *backfill.Command) { c.StartTime = "yesterday" }, `--start-time must be a time like 2026-11-22T08:00:00Z, got "yesterday"`},
		"time and state":          {func(c *backfill.Command) { c.StartTime, c.State = "2026-11-22T08:00:00Z", "x" }, "--start-time and --state are mutually exclusive"},
		"a negative rate":         {func(c *backfill.Command) { c.Rate = -1 }, "--rate must not be negative"},
		"no batch":                {func(c *backfill.Command) { c.Batch = 0 }, "--batch must be 1 to 10000"},
		"an unknown kind":         {func(c *backfill.Command) { c.Kinds = []string{"x"} }, `--kinds: unknown kind "x"`},
		"a missing directory":     {func(c *backfill.Command) { c.State = "/nowhere/state" }, "--state: open /nowhere/"},
		"an empty namespace name": {func(c *backfill.Command) { c.Namespaces = []string{""} }, "--namespaces must not contain an empty name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCommand("all")
			tc.change(c)
			if _, err := run(t.Context(), t, c, env); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
