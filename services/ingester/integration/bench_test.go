package integration

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// BenchmarkIngest1000Models stores 1,000 Models with 3 labels and 2 annotations. They
// are in the cluster, with the finalizer, before the ingester starts; the clock runs
// from its start to the last commit, the start of its caches included.
func BenchmarkIngest1000Models(b *testing.B) {
	const objects = 1000
	var spent time.Duration
	for range b.N {
		b.StopTimer()
		spent += ingest(b, objects)
	}
	b.ReportMetric(float64(objects*b.N)/spent.Seconds(), "objects/s")
	b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "ms/run")
	b.ReportMetric(0, "ns/op")
}

func ingest(b *testing.B, objects int) time.Duration {
	b.Helper()
	h := newBench(b)
	names := make(chan string)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for name := range names {
				m := h.model(name)
				m.SetFinalizers([]string{api.IngesterFinalizer})
				if err := h.client.Create(b.Context(), m); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range objects {
		names <- fmt.Sprintf("model-%04d", i)
	}
	close(names)
	wg.Wait()

	dbtest.Migrate(b, h.db)
	b.StartTimer()
	begin := time.Now()
	stop := h.start()
	expect.Eventually(b, 5*time.Minute, func() error {
		rows, err := h.query("SELECT COUNT(*) FROM model")
		if err != nil {
			return err
		}
		if rows[0] != strconv.Itoa(objects) {
			return fmt.Errorf("%s rows", rows[0])
		}
		return nil
	})
	b.StopTimer()
	last := dbtest.Strings(b, h.db, "SELECT MAX(update_time) FROM model")[0]
	end, err := time.Parse("2006-01-02 15:04:05.999999", last)
	if err != nil {
		end, err = time.Parse(time.RFC3339Nano, last)
	}
	if err != nil {
		b.Fatal(err)
	}
	stop()
	return end.Sub(begin)
}
