package installation_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/installation"
)

func TestFirstClusterClaimsDatabase(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			db := dbtest.Open(t, mysqltest.DSNOf(t, vendor))
			dbtest.Migrate(t, db)
			for _, cluster := range []string{"", "prod"} { // neither is recorded
				if err := installation.Check(t.Context(), db, cluster); err != nil {
					t.Errorf("check of %q before a claim: %v", cluster, err)
				}
			}
			for _, cluster := range []string{"", "prod", "prod", ""} {
				if err := installation.Claim(t.Context(), db, cluster); err != nil {
					t.Errorf("claim of %q: %v", cluster, err)
				}
			}
			want := "database belongs to another cluster: it is that of --cluster-name=prod, got --cluster-name=test: "
			for what, err := range map[string]error{
				"claim": installation.Claim(t.Context(), db, "test"), "check": installation.Check(t.Context(), db, "test"),
			} {
				if !errors.Is(err, installation.ErrOtherCluster) || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%s: error %v, want one that begins with %q", what, err, want)
				}
			}
		})
	}
}

func TestOneOfManyClustersClaimsDatabase(t *testing.T) {
	const clusters, replicas = 4, 3
	db, _ := dbtest.Migrated(t)
	var group sync.WaitGroup
	var claimed atomic.Int64
	for i := range clusters * replicas {
		group.Go(func() {
			switch err := installation.Claim(t.Context(), db, fmt.Sprint("c", i%clusters)); {
			case err == nil:
				claimed.Add(1)
			case !errors.Is(err, installation.ErrOtherCluster):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := claimed.Load(); n != replicas {
		t.Errorf("%d replicas claimed the database, want the %d of one cluster", n, replicas)
	}
}
