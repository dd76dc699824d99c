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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

const modelCount = 1000

// models stores the objects in the cluster first; the clock runs from the ingester's
// start to the last commit. The raw limit is multi-row inserts of rows of that size.
func models(ctx context.Context, p *platform.Platform) error {
	if err := p.Stack(ctx, "stop", "ingester"); err != nil {
		return err
	}
	if err := createModels(ctx, p); err != nil {
		return err
	}
	start := time.Now()
	if err := p.Stack(ctx, "start", "ingester"); err != nil {
		return err
	}
	err := until(ctx, func() (bool, error) {
		var n int
		row := p.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM model WHERE name LIKE 'bench-%' AND delete_time IS NULL")
		err := row.Scan(&n)
		return n == modelCount, err
	})
	if err != nil {
		return err
	}
	elapsed := time.Since(start).Seconds()
	report("models_1000_into_mysql", elapsed, "s")
	report("models_1000_rate_from_process_start", modelCount/elapsed, "objects/s")
	raw, err := rawInserts(ctx, p.DB)
	if err != nil {
		return err
	}
	report("mysql_raw_multirow_inserts", raw, "rows/s")
	return nil
}

func createModels(ctx context.Context, p *platform.Platform) error {
	const workers = 8
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < modelCount && errs[w] == nil; i += workers {
				errs[w] = p.Client.Create(ctx, model(i))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// model has three labels and two annotations, as the budget says.
func model(i int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"description":       strings.Repeat("a model for the benchmark ", 8),
		"algorithm":         "xgboost",
		"trainingFramework": "spark",
		"owner":             map[string]any{"name": "bench"},
	}}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "michelangelo.api", Version: "v2", Kind: "Model"})
	obj.SetNamespace("default")
	obj.SetName(fmt.Sprintf("bench-%d", i))
	obj.SetLabels(map[string]string{"team": "bench", "tier": fmt.Sprint(i % 5), "batch": "one"})
	obj.SetAnnotations(map[string]string{"bench/note": "first", "bench/source": "generated"})
	return obj
}

// rawInserts returns rows per second of multi-row inserts of 2 KiB rows over four connections.
func rawInserts(ctx context.Context, db *sql.DB) (rate float64, err error) {
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
