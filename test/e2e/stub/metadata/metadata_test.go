package metadata_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
	"github.com/flotilla-dev/flotilla/libs/testkit/postgres"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

const golden = "../../../../services/engine-operator/internal/render/testdata/own-postgres/objects.golden.yaml"

const program = "github.com/flotilla-dev/flotilla/test/e2e/stub/cmd/metadata"

// config returns the configuration that the operator renders, with another port and a real database.
func config(t *testing.T, db *postgres.Server, name string, port int) string {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "config.yaml: |\n")
	rest, _, ok := strings.Cut(rest, "\nkind:")
	if !ok {
		t.Fatal("the golden file has no config.yaml")
	}
	rest = strings.ReplaceAll("\n"+rest, "\n    ", "\n")
	return strings.NewReplacer("shop-metadata-pg.default.svc.cluster.local", db.Host, "port: 5432", fmt.Sprint("port: ", db.Port),
		"firebolt_metadata", name, "port: 7000", fmt.Sprint("port: ", port)).Replace(rest)
}

// start runs the service; the password may be wrong.
func start(t *testing.T, db *postgres.Server, text, password string) *proc.Child {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"config.yaml": text, "username": db.User, "password": password} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return goprogram.Start(t, program, []string{
		"POSTGRES_USERNAME_FILE=" + filepath.Join(dir, "username"), "POSTGRES_PASSWORD_FILE=" + filepath.Join(dir, "password"),
	}, "--config", filepath.Join(dir, "config.yaml"))
}

// waitForStatus waits for a health status, checked like the kubelet does.
func waitForStatus(t *testing.T, p *proc.Child, port int, want healthv1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	conn, err := grpc.NewClient(freeport.Address(port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	expect.Eventually(t, expect.Long, func() error {
		answer, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
		if err != nil || answer.GetStatus() != want {
			return errors.Join(fmt.Errorf("%v, want %v", answer.GetStatus(), want), err, p.Running())
		}
		return nil
	})
}

func TestMetadataServesWhileDatabaseDoes(t *testing.T) {
	db := postgres.Shared(t)
	name := db.Database(t)
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, db, config(t, db, name, port), db.Password)
	waitForStatus(t, p, port, healthv1.HealthCheckResponse_SERVING)
	if got := strings.TrimSpace(db.Query(t, name, "SELECT id FROM public.stub_account")); got != "01J9ZZZZZZZZZZZZZZZZZZZZZZ" {
		t.Errorf("account in the database: %q", got)
	}
	hold(t, db, name)
	waitForStatus(t, p, port, healthv1.HealthCheckResponse_NOT_SERVING)
	db.Query(t, "postgres", "ALTER DATABASE "+postgres.Identifier(name)+" ALLOW_CONNECTIONS true")
	waitForStatus(t, p, port, healthv1.HealthCheckResponse_SERVING)
	p.Signal(syscall.SIGTERM)
	if code, output := goprogram.Wait(t, p, expect.Long); code != 0 {
		t.Errorf("exit status %d: %s", code, output)
	}
}

// hold blocks all connections to a database.
func hold(t *testing.T, db *postgres.Server, name string) {
	t.Helper()
	db.Query(t, "postgres", "ALTER DATABASE "+postgres.Identifier(name)+" ALLOW_CONNECTIONS false")
	db.Query(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "+postgres.Literal(name))
}

func TestMetadataRejectsDataOfOtherAccount(t *testing.T) {
	db := postgres.Shared(t)
	name := db.Database(t)
	db.Query(t, name, "CREATE TABLE public.stub_account (one int, id text); INSERT INTO public.stub_account VALUES (1, 'another')")
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, db, config(t, db, name, port), db.Password)
	if code, output := goprogram.Wait(t, p, expect.Long); code != 1 || !strings.Contains(output, "another account's data") {
		t.Errorf("exit status %d: %s", code, output)
	}
}

func TestMetadataRejectsInvalidConfig(t *testing.T) {
	db := postgres.Shared(t)
	valid := config(t, db, "none", 7000)
	for name, tc := range map[string]struct{ old, new, want string }{
		"an unknown key": {"log_level:", "loglevel:", "loglevel"},
		"no account":     {"default_account_id: 01J9ZZZZZZZZZZZZZZZZZZZZZZ", "default_account_id: ''", "default_account_id"},
		"no schema":      {"schema: public", "schema: ''", "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(valid, tc.old) {
				t.Fatalf("no %q in %s", tc.old, valid)
			}
			p := start(t, db, strings.Replace(valid, tc.old, tc.new, 1), db.Password)
			if code, output := goprogram.Wait(t, p, expect.Long); code != 1 || !strings.Contains(output, tc.want) {
				t.Errorf("exit status %d: %s", code, output)
			}
		})
	}
}

func TestMetadataWaitsForValidCredentials(t *testing.T) {
	db := postgres.Shared(t)
	port, err := freeport.One()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, db, config(t, db, "nothing-of-that-name", port), db.Password)
	waitForStatus(t, p, port, healthv1.HealthCheckResponse_NOT_SERVING)
	conn, err := grpc.NewClient(freeport.Address(port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("health check without a database: %v, want an answer", err)
	}
}
