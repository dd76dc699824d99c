package mysql_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// The rows of a collection are found first, then locked. One that left the selector in between
// must stay.
func TestDeleteCollectionSelectsAgainUnderLock(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := openOn(t, dsn, mysql.Options{})
		for _, name := range []string{"goes", "leaves"} {
			if err := s.Upsert(t.Context(), dbtest.Model(name, name, 1), false, nil); err != nil {
				t.Fatal(err)
			}
		}
		other, err := s.DB().BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []string{
			"UPDATE model SET res_version = 2 WHERE uid = 'leaves'",
			"UPDATE model_labels SET value = 'fraud' WHERE obj_uid = 'leaves' AND `key` = 'team'",
		} {
			if _, err := other.ExecContext(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() {
			done <- s.DeleteCollection(t.Context(), model, "default", nil, &metav1.ListOptions{LabelSelector: "team=growth"})
		}()
		expect.Eventually(t, expect.Long, func() error {
			if len(done) > 0 {
				return fmt.Errorf("the deletion has ended: %w", <-done)
			}
			// The server reports lock waits with a delay; wait for a running locking read instead.
			locking := dbtest.Strings(t, s.DB(), "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE '%FOR UPDATE'")
			if locking[0] != "1" {
				return fmt.Errorf("%s statements lock rows, want that of the deletion", locking[0])
			}
			return nil
		})
		if err := other.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		live := dbtest.Strings(t, s.DB(), "SELECT uid FROM model WHERE delete_time IS NULL")
		if diff := cmp.Diff([]string{"leaves"}, live); diff != "" {
			t.Errorf("live (-want +got):\n%s", diff)
		}
	})
}
