package mysql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

const (
	stored = 1000 // objects that are upserted
	copies = 100  // rows of each of them
)

// BenchmarkListByLabels lists the newest hundred of the objects that two labels select,
// one in a hundred of 100,000 rows. Its figure is the 99th percentile.
func BenchmarkListByLabels(b *testing.B) {
	benchmarkList(b, func(i int) metav1.ListOptions {
		return metav1.ListOptions{LabelSelector: fmt.Sprintf("team=team-%d,tier=gold", i%100), Limit: 100}
	})
}

// BenchmarkListByFields does the same for two indexed columns, each of which selects half
// of the rows: a server that reads both indexes whole is slow.
func BenchmarkListByFields(b *testing.B) {
	benchmarkList(b, func(i int) metav1.ListOptions {
		return metav1.ListOptions{FieldSelector: fmt.Sprintf("algorithm=algorithm-%d,source=source-%d", i%2, i/2%2), Limit: 100}
	})
}

func benchmarkList(b *testing.B, listOptions func(i int) metav1.ListOptions) {
	b.Helper()
	store := manyModels(b)
	var spent []time.Duration
	i := 0
	for b.Loop() {
		options := listOptions(i)
		start := time.Now()
		var answer storage.ListResponse
		err := store.List(b.Context(), &metav1.TypeMeta{APIVersion: api.GroupVersion, Kind: "Model"}, "default", &options, nil, &answer)
		spent = append(spent, time.Since(start))
		if err != nil || len(answer.Items) != 100 {
			b.Fatalf("%d objects, %v", len(answer.Items), err)
		}
		i++
	}
	slices.Sort(spent)
	b.ReportMetric(spent[len(spent)*99/100].Seconds()*1000, "p99-ms")
}

// manyModels returns a store of 100,000 rows.
func manyModels(b *testing.B) *mysql.Storage {
	b.Helper()
	store, err := mysql.Open(b.Context(), mysql.Options{DSN: mysqltest.DSN(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := store.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	store.SetIncarnation(1)
	for i := range stored {
		m := dbtest.Model(fmt.Sprintf("model-%04d", i), fmt.Sprintf("00000000-0000-4000-8000-%012d", i), 1)
		m.SetLabels(map[string]string{"team": fmt.Sprintf("team-%d", i%100), "tier": "gold", "stage": "test"})
		spec := map[string]any{"algorithm": fmt.Sprintf("algorithm-%d", i%2), "source": fmt.Sprintf("source-%d", i/2%2), "kind": "MODEL_KIND_CUSTOM"}
		m.Object["spec"] = spec
		if err := store.Upsert(b.Context(), m, false, nil); err != nil {
			b.Fatal(err)
		}
	}
	for n := 1; n < copies; n++ {
		copyRows(b, store, "model", "uid", n)
		copyRows(b, store, "model_labels", "obj_uid", n)
	}
	return store
}

// copyRows copies the rows of the stored objects under other uids and names.
func copyRows(b *testing.B, store *mysql.Storage, table, owner string, n int) {
	b.Helper()
	columns := dbtest.Strings(b, store.DB(), "SELECT column_name FROM information_schema.columns"+
		" WHERE table_schema = DATABASE() AND table_name = ? AND column_name <> 'id' ORDER BY ordinal_position", table)
	values := make([]string, 0, len(columns))
	for i, c := range columns {
		columns[i] = "`" + c + "`"
		if c == owner || c == "name" {
			values = append(values, fmt.Sprintf("CONCAT(%s, '-%d')", columns[i], n))
			continue
		}
		values = append(values, columns[i])
	}
	const uuid = 36 // characters; the uids of copies are longer
	query := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE CHAR_LENGTH(%s) = %d",
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, owner, uuid)
	if _, err := store.DB().ExecContext(b.Context(), query); err != nil {
		b.Fatal(err)
	}
}
