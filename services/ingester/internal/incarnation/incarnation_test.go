package incarnation_test

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func TestResolve(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name    string
		cluster incarnation.Cluster
		store   int64 // a row of this version, written with the incarnation before
		want    int64
	}{
		{name: "a first cluster", cluster: incarnation.Cluster{UID: "one", ResourceVersion: 10}, want: 1},
		{name: "the same again", cluster: incarnation.Cluster{UID: "one", ResourceVersion: 20}, store: 15, want: 1},
		{name: "a cluster that went back", cluster: incarnation.Cluster{UID: "one", ResourceVersion: 14}, want: 2},
		{name: "a cluster that went back stays there", cluster: incarnation.Cluster{UID: "one", ResourceVersion: 14}, want: 2},
		{name: "another cluster", cluster: incarnation.Cluster{UID: "two", ResourceVersion: 1000}, want: 3},
		{name: "the other cluster again", cluster: incarnation.Cluster{UID: "two", ResourceVersion: 1001}, want: 3},
	}
	current := int64(0)
	for _, s := range steps {
		if s.store > 0 {
			if _, err := db.ExecContext(t.Context(), "INSERT INTO project (uid, group_ver, namespace, name, res_version, incarnation, create_time, update_time, proto, json)"+
				" VALUES ('u', 'v', 'ns', 'n', ?, ?, NOW(6), NOW(6), '', '{}')", s.store, current); err != nil {
				t.Fatal(err)
			}
		}
		got, err := incarnation.Resolve(t.Context(), db, kinds, s.cluster, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if got != s.want {
			t.Errorf("%s: incarnation %d, want %d", s.name, got, s.want)
		}
		current = got
	}
}
