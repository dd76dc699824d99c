package cmdutil_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/cmdutil"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/cmdutil/operatetest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

func TestScope(t *testing.T) {
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	env := cmdutil.Env{Kinds: kinds, Namespaces: []string{"watched"}}
	tests := map[string]struct {
		scope      cmdutil.Scope
		kinds      string // joined; empty means all
		namespaces string
		err        string
	}{
		"nothing is all, where the ingester works": {cmdutil.Scope{}, "", "watched", ""},
		"names, resources and any case":            {cmdutil.Scope{Kinds: []string{"projects", "MODEL", "Model"}}, "Model Project", "watched", ""},
		"namespaces, each once":                    {cmdutil.Scope{Namespaces: []string{"b", "a", "b"}}, "", "a b", ""},
		"an unknown kind":                          {cmdutil.Scope{Kinds: []string{"Modell"}}, "", "", `--kinds: "Modell" is no kind; there are Model, ModelFamily`},
		"an empty namespace":                       {cmdutil.Scope{Namespaces: []string{"a", ""}}, "", "", "--namespaces has an empty name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, namespaces, err := tc.scope.Resolve(env)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want one with %q", err, tc.err)
				}
				return
			}
			var names []string
			for _, kind := range got {
				names = append(names, kind.Name)
			}
			if joined := strings.Join(names, " "); err != nil || (tc.kinds != "" && joined != tc.kinds) || (tc.kinds == "" && len(got) != len(kinds.Kinds())) {
				t.Errorf("kinds %q, error %v", joined, err)
			}
			if diff := cmp.Diff(tc.namespaces, strings.Join(namespaces, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	empty := mysqltest.DSN(t)
	tests := map[string]struct{ dsn, want string }{
		"a server that is away":     {"user:hunter2@tcp(127.0.0.1:1)/db", "reach MySQL: dial tcp 127.0.0.1:1"},
		"a DSN that is none":        {"user:hunter2@nowhere", "--mysql-dsn (FLOTILLA_MYSQL_DSN or MYSQL_DSN) is not a DSN"},
		"a database without tables": {empty, "migrations of the database are pending: run ingester migrate up"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := cmdutil.Open(t.Context(), cmdutil.Config{MySQL: database.Settings{DSN: tc.dsn}, Log: logr.Discard()})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
	env, err := cmdutil.Open(t.Context(), cmdutil.Config{MySQL: database.Settings{DSN: "user:hunter2@tcp(127.0.0.1:1)/db"}, Optional: true, Log: logr.Discard()})
	if err != nil || env.DB != nil || env.Store != nil {
		t.Errorf("optional: %v, %v", env.DB, err)
	}
	if err := env.NeedMySQL(); err == nil {
		t.Error("a command that needs MySQL would go on")
	}
	if err := env.Close(); err != nil {
		t.Error(err)
	}
}

func TestSettleNeverRaisesTheIncarnation(t *testing.T) {
	b := operatetest.New(t)
	fresh := b.Open(b.Client)
	b.Exec("UPDATE incarnation SET incarnation = 7")
	b.Exec("INSERT INTO incarnation (cluster_uid, incarnation, raised_at) VALUES ('another', 9, NOW(6))")
	n, known, err := fresh.Incarnation(t.Context())
	if err != nil || n != 7 || !known {
		t.Errorf("incarnation %d, %t, %v", n, known, err)
	}
	b.Exec("DELETE FROM incarnation WHERE incarnation = 7")
	n, known, err = fresh.Incarnation(t.Context())
	if err != nil || n != 10 || known {
		t.Errorf("incarnation of an unknown cluster %d, %t, %v", n, known, err)
	}
	if err := fresh.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "start the ingester once") {
		t.Errorf("error %v", err)
	}
}

func TestVerifyNamesMistakes(t *testing.T) {
	b := operatetest.New(t)
	tests := map[string]struct {
		change func(*verify.Command)
		want   string
	}{
		"a namespace nobody knows": {func(c *verify.Command) { c.Namespaces = []string{"nowhere"} }, `--namespaces: neither the cluster nor MySQL knows "nowhere"`},
		"force without mend":       {func(c *verify.Command) { c.Force = true }, "--force means nothing without --repair"},
		"a negative patience":      {func(c *verify.Command) { c.Patience = -1 }, "must not be negative"},
		"a wrong format":           {func(c *verify.Command) { c.Format = "xml" }, `--output is "xml"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := &verify.Command{}
			tc.change(c)
			if err := c.Run(t.Context(), b.Env, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
	b.Create(b.Model("missing"))
	var left cmdutil.Left
	err := (&verify.Command{}).Run(t.Context(), b.Env, io.Discard)
	if !errors.As(err, &left) || err.Error() != "1 difference; --repair repairs what can be repaired" {
		t.Errorf("error %v", err)
	}
}

func TestExplain(t *testing.T) {
	noMatch := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "michelangelo.api", Kind: "Model"}}
	if err := cmdutil.Explain(noMatch); !strings.Contains(err.Error(), "does the cluster have the CRDs of config/crd?") {
		t.Errorf("error %v", err)
	}
	if cmdutil.Explain(nil) != nil {
		t.Error("nothing is an error")
	}
}
