package writer_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
)

// BenchmarkWriter writes new Models with 3 labels and 2 annotations from 256 callers,
// without an API server: the upper bound of writer and server.
func BenchmarkWriter(b *testing.B) {
	db, _ := dbtest.Migrated(b)
	w := newWriter(b, db)
	records := make(chan *record.Record, b.N)
	for i := range b.N {
		records <- model(b, fmt.Sprintf("m%d", i), fmt.Sprintf("%08x-aaaa-bbbb-cccc-%d", i*2654435761, i), 1, record.Live)
	}
	close(records)
	b.ResetTimer()
	begin := time.Now()
	var wg sync.WaitGroup
	for range 256 {
		wg.Go(func() {
			for r := range records {
				if _, err := w.Write(b.Context(), r); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "objects/s")
}
