package faults

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// modelTables are the tables of the kind Model.
var modelTables = []string{"model", "model_labels", "model_annotations"}

func (s *env) exec(statements ...string) {
	s.Helper()
	for _, statement := range statements {
		if _, err := s.db.ExecContext(s.Context(), statement); err != nil {
			s.Fatalf("%s: %v", statement, err)
		}
	}
}

// waitForRows waits until each Model has a live row with its version, and no other has one.
func (s *env) waitForRows(objects ...*unstructured.Unstructured) {
	s.Helper()
	expect.Eventually(s, 2*expect.Long, func() error {
		want, got := map[string]string{}, map[string]string{}
		for _, o := range objects {
			if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			want[o.GetName()] = o.GetResourceVersion()
		}
		var rows []struct {
			Name    string
			Version string `db:"res_version"`
		}
		err := sqlx.NewDb(s.db, "mysql").SelectContext(s.Context(), &rows, "SELECT name, res_version FROM model WHERE delete_time IS NULL")
		if err != nil {
			return err
		}
		for _, row := range rows {
			got[row.Name] = row.Version
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("rows %v, want %v", got, want)
		}
		return nil
	})
}

// A server that lost its last commits gets them again: one that lost power without syncing each commit, or, alike, a
// replica that became the primary.
func TestRestartedServerGetsLostCommitsAgain(t *testing.T) {
	forEachVendor(t, func(s *env) {
		s.start()
		updated, created := s.object("Model", "updated"), s.object("Model", "created")
		if err := s.client.Create(t.Context(), updated); err != nil {
			t.Fatal(err)
		}
		s.waitForRows(updated)
		for _, name := range modelTables {
			s.exec("CREATE TABLE backup_"+name+" LIKE "+name, "INSERT INTO backup_"+name+" SELECT * FROM "+name)
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"other"}}}`))
		if err := s.client.Patch(t.Context(), updated.DeepCopy(), patch); err != nil {
			t.Fatal(err)
		}
		if err := s.client.Create(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		s.waitForRows(updated, created)
		expect.Eventually(t, expect.Long, func() error { // a restart after two seconds would not be noticed
			var variable string
			var uptime int
			text, err := os.ReadFile(s.logs[0])
			if err == nil {
				err = s.db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&variable, &uptime)
			}
			if err == nil && (uptime < 5 || !strings.Contains(string(text), "Identified the MySQL server")) {
				err = fmt.Errorf("the server runs for %d s, or the ingester has not identified it", uptime)
			}
			return err
		})
		for _, name := range modelTables {
			s.exec("DELETE FROM "+name, "INSERT INTO "+name+" SELECT * FROM backup_"+name)
		}
		s.mysql.Kill()
		s.mysql.Start()
		s.waitForRows(updated, created)
	})
}
