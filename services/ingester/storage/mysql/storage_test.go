package mysql_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

func open(t *testing.T) *mysql.Storage {
	t.Helper()
	s, err := mysql.Open(context.WithoutCancel(t.Context()), mysql.Options{DSN: mysqltest.DSN(t), Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.SetIncarnation(1)
	return s
}

func empty() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "michelangelo.api/v2", "kind": "Model"}}
}

func TestStoreAndRead(t *testing.T) {
	s := open(t)
	m := dbtest.Model("m", "a", 1)
	if err := s.Upsert(t.Context(), m, false, nil); err != nil {
		t.Fatal(err)
	}
	byName, byID := empty(), empty()
	if err := s.GetByName(t.Context(), "default", "m", byName); err != nil {
		t.Fatal(err)
	}
	if err := s.GetByID(t.Context(), "a", byID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, byName); diff != "" {
		t.Errorf("by name (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(m, byID); diff != "" {
		t.Errorf("by id (-want +got):\n%s", diff)
	}
	for range 2 { // closing twice is not an error
		if err := s.Finish(t.Context(), dbtest.Model("m", "a", 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.GetByName(t.Context(), "default", "m", empty()); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("by name after the deletion: %v, want ErrNotFound", err)
	}
	if err := s.GetByID(t.Context(), "a", empty()); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("by id after the deletion: %v, want ErrNotFound", err)
	}
}

func TestErrorsAreTyped(t *testing.T) {
	s := open(t)
	if err := s.Upsert(t.Context(), dbtest.Model("m", "a", 5), false, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Upsert(t.Context(), dbtest.Model("m", "a", 4), false, nil); !errors.Is(err, storage.ErrStale) {
		t.Errorf("an older version: %v, want ErrStale", err)
	}
	bad := dbtest.Model("n", "b", 1)
	bad.Object["spec"].(map[string]any)["surprise"] = true
	if err := s.Upsert(t.Context(), bad, false, nil); !errors.Is(err, storage.ErrRejected) || !strings.Contains(err.Error(), "spec.surprise") {
		t.Errorf("an unknown field: %v, want ErrRejected that names spec.surprise", err)
	}
	if err := s.Release(t.Context(), dbtest.Model("n", "b", 1)); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("released without a row: %v, want ErrNotFound", err)
	}
}

func TestWritesWaitForIncarnation(t *testing.T) {
	s, err := mysql.Open(t.Context(), mysql.Options{DSN: "user@tcp(127.0.0.1:1)/nowhere", Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Upsert(ctx, dbtest.Model("m", "a", 1), false, nil); !errors.Is(err, storage.ErrNotReady) {
		t.Errorf("error %v, want ErrNotReady", err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrNotReady) {
		t.Errorf("readiness %v, want ErrNotReady", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestDatabaseOfOtherClusterIsRejected starts the ingester of another cluster on the same database.
func TestDatabaseOfOtherClusterIsRejected(t *testing.T) {
	dsn := mysqltest.DSN(t)
	openOn(t, dsn, mysql.Options{Cluster: "prod"})
	openOn(t, dsn, mysql.Options{Cluster: "prod"})
	s, err := mysql.Open(t.Context(), mysql.Options{DSN: dsn, Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err, want := s.Prepare(t.Context()), "database belongs to another cluster"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want one that begins with %q", err, want)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrNotReady) {
		t.Errorf("ready: %v, want ErrNotReady", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestDSNMustAuthenticateServer(t *testing.T) {
	for _, parameters := range []string{"tls=skip-verify", "tls=preferred", "tls=true&allowFallbackToPlaintext=true"} {
		_, err := mysql.Open(t.Context(), mysql.Options{DSN: "user:hunter2@tcp(h:3306)/db?" + parameters})
		if err == nil || !strings.HasPrefix(err.Error(), "must not have ") {
			t.Errorf("%s: error %v, want one that names the parameter", parameters, err)
		}
	}
}

func TestInvalidDSNErrorOmitsPassword(t *testing.T) {
	for _, dsn := range []string{"user:hunter2@nowhere", "user:hunter2@tcp(h:3306)/", "hunter2"} {
		_, err := mysql.Open(t.Context(), mysql.Options{DSN: dsn})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error %v, want one without the password", err)
		}
	}
}
