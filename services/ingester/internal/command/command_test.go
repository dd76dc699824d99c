package command_test

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

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

func TestScope(t *testing.T) {
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	env := command.Env{Kinds: kinds, Namespaces: []string{"watched"}}
	tests := map[string]struct {
		scope      command.Scope
		kinds      string // joined; empty means all
		namespaces string
		err        string
	}{
		"nothing is all, where the ingester watches": {command.Scope{}, "", "watched", ""},
		"names, resources and any case":              {command.Scope{Kinds: []string{"projects", "MODEL", "Model"}}, "Model Project", "watched", ""},
		"namespaces, each once":                      {command.Scope{Namespaces: []string{"b", "a", "b"}}, "", "a b", ""},
		"an unknown kind":                            {command.Scope{Kinds: []string{"Modell"}}, "", "", `--kinds: unknown kind "Modell", want one of Model, ModelFamily`},
		"an empty namespace":                         {command.Scope{Namespaces: []string{"a", ""}}, "", "", "--namespaces must not contain an empty name"},
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

func TestOpenReportsCause(t *testing.T) {
	empty := mysqltest.DSN(t)
	tests := map[string]struct{ dsn, want string }{
		"an unavailable server":     {"user:hunter2@tcp(127.0.0.1:1)/db", "ping MySQL: dial tcp 127.0.0.1:1"},
		"an invalid DSN":            {"user:hunter2@nowhere", "--mysql-dsn (FLOTILLA_MYSQL_DSN or MYSQL_DSN) is not a DSN"},
		"a database without tables": {empty, "database migrations are pending: run ingester migrate up"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := command.Open(t.Context(), command.Config{MySQL: database.Settings{DSN: tc.dsn}, Log: logr.Discard()})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
	env, err := command.Open(t.Context(), command.Config{MySQL: database.Settings{DSN: "user:hunter2@tcp(127.0.0.1:1)/db"}, Optional: true, Log: logr.Discard()})
	if err != nil || env.DB != nil || env.Store != nil {
		t.Errorf("optional: %v, %v", env.DB, err)
	}
	if err := env.RequireMySQL(); err == nil {
		t.Error("a command that needs MySQL would continue")
	}
	if err := env.Close(); err != nil {
		t.Error(err)
	}
}

func TestSetIncarnationKeepsIncarnation(t *testing.T) {
	b := commandtest.New(t)
	fresh := b.Open(b.Client)
	b.Exec("UPDATE incarnation SET incarnation = 7")
	b.Exec("INSERT INTO incarnation (cluster_uid, incarnation, raised_at) VALUES ('another', 9, NOW(6))")
	n, registered, err := fresh.Incarnation(t.Context())
	if err != nil || n != 7 || !registered {
		t.Errorf("incarnation %d, %t, %v", n, registered, err)
	}
	b.Exec("DELETE FROM incarnation WHERE incarnation = 7")
	n, registered, err = fresh.Incarnation(t.Context())
	if err != nil || n != 10 || registered {
		t.Errorf("incarnation of an unregistered cluster %d, %t, %v", n, registered, err)
	}
	if err := fresh.SetIncarnation(t.Context()); err == nil || !strings.Contains(err.Error(), "start the ingester once") {
		t.Errorf("error %v", err)
	}
}

func TestVerifyRejectsInvalidFlags(t *testing.T) {
	b := commandtest.New(t)
	tests := map[string]struct {
		change func(*verify.Command)
		want   string
	}{
		"an unknown namespace": {func(c *verify.Command) { c.Namespaces = []string{"nowhere"} }, `--namespaces: "nowhere" not found in the cluster or in MySQL`},
		"force without repair": {func(c *verify.Command) { c.Force = true }, "--force requires --repair"},
		"a negative timeout":   {func(c *verify.Command) { c.SettleTimeout = -1 }, "must not be negative"},
		"a wrong format":       {func(c *verify.Command) { c.Format = "xml" }, `--output must be text or json, got "xml"`},
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
	var incomplete command.IncompleteError
	err := (&verify.Command{}).Run(t.Context(), b.Env, io.Discard)
	if !errors.As(err, &incomplete) || err.Error() != "1 difference found: run again with --repair" {
		t.Errorf("error %v", err)
	}
}

func TestExplain(t *testing.T) {
	noMatch := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "michelangelo.api", Kind: "Model"}}
	if err := command.Explain(noMatch); !strings.Contains(err.Error(), "check that the CRDs of config/crd are installed") {
		t.Errorf("error %v", err)
	}
	if command.Explain(nil) != nil {
		t.Error("nothing is an error")
	}
}
