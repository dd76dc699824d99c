package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

const modelCount = 1000

// stackModels creates the objects first, and measures the time from the start of the ingester to the last
// commit. It compares with multi-row inserts of rows of the same size.
func stackModels(ctx context.Context, p *platform.Platform) error {
	if err := p.Stack(ctx, "stop", "ingester"); err != nil {
		return err
	}
	objects := make([]client.Object, 0, modelCount)
	for i := range modelCount {
		objects = append(objects, stackModel(i))
	}
	create := func(ctx context.Context, obj client.Object) error { return p.Client.Create(ctx, obj) }
	if err := benchenv.Each(ctx, objects, create); err != nil {
		return err
	}
	start := time.Now()
	if err := p.Stack(ctx, "start", "ingester"); err != nil {
		return err
	}
	err := await.Nil(ctx, arrivalTimeout, arrivalInterval, func(ctx context.Context) error {
		var n int
		row := p.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM model WHERE name LIKE 'bench-%' AND delete_time IS NULL")
		if err := row.Scan(&n); err != nil {
			return await.Stop(err)
		}
		if n != modelCount {
			return fmt.Errorf("%d models are stored", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	elapsed := time.Since(start).Seconds()
	figures.Report("models_1000_into_mysql", elapsed, "s")
	figures.Report("models_1000_rate_from_process_start", modelCount/elapsed, "objects/s")
	raw, err := rawRows(ctx, p.DB)
	if err != nil {
		return err
	}
	figures.Report("mysql_raw_multirow_inserts", raw, "rows/s")
	return nil
}

// stackModel returns a Model with three labels and two annotations, as in the budget.
func stackModel(i int) *unstructured.Unstructured {
	obj := benchenv.Object(modelGroup, "Model", "default", fmt.Sprintf("bench-%d", i), map[string]any{
		"description":       strings.Repeat("a model for the benchmark ", 8),
		"algorithm":         "xgboost",
		"trainingFramework": "spark",
		"owner":             map[string]any{"name": "bench"},
	})
	obj.SetLabels(map[string]string{"team": "bench", "tier": fmt.Sprint(i % 5), "batch": "one"})
	obj.SetAnnotations(map[string]string{"bench/note": "first", "bench/source": "generated"})
	return obj
}

// rawRows returns the rows per second of multi-row inserts of 2 KiB rows on four connections.
func rawRows(ctx context.Context, db *sql.DB) (rate float64, err error) {
	const table = "bench_raw"
	if _, err := db.ExecContext(ctx, "CREATE TABLE "+table+" (uid VARCHAR(64) PRIMARY KEY, json LONGTEXT, proto LONGBLOB)"); err != nil {
		return 0, err
	}
	defer func() {
		_, dropErr := db.ExecContext(context.WithoutCancel(ctx), "DROP TABLE "+table)
		err = errors.Join(err, dropErr)
	}()
	const rows, batch, writers = 8000, 100, 4
	statement := "INSERT INTO " + table + " VALUES " + strings.TrimSuffix(strings.Repeat("(?,?,?),", batch), ",")
	json, proto := strings.Repeat("j", 1400), strings.Repeat("p", 700)
	errs := make([]error, writers)
	start := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for b := w; b < rows/batch && errs[w] == nil; b += writers {
				args := make([]any, 0, 3*batch)
				for i := range batch {
					args = append(args, fmt.Sprintf("uid-%06d", b*batch+i), json, proto)
				}
				_, errs[w] = db.ExecContext(ctx, statement, args...)
			}
		})
	}
	wg.Wait()
	return rows / time.Since(start).Seconds(), errors.Join(errs...)
}
