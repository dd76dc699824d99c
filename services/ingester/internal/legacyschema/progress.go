package legacyschema

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// reportInterval is the minimum interval between two lines of progress.
const reportInterval = 5 * time.Second

// progress reports the progress of the work on a table.
type progress struct {
	report func(line string)
	clock  clock.PassiveClock

	what            string
	done, total     int
	began, reported time.Time
}

// begin starts the work on total objects, an estimate of the server.
func (p *progress) begin(what string, total int) {
	p.what, p.total, p.done = what, total, 0
	p.began = p.clock.Now()
	p.reported = p.began
	if total > defaultBatch {
		p.report(fmt.Sprintf("%s: about %d rows", what, total))
	}
}

func (p *progress) add(n int) {
	p.done += n
	if p.clock.Since(p.reported) < reportInterval {
		return
	}
	p.reported = p.clock.Now()
	took := p.clock.Since(p.began)
	line := fmt.Sprintf("%s: %d of about %d rows in %s", p.what, p.done, max(p.done, p.total), took.Round(time.Second))
	if left := p.total - p.done; left > 0 {
		line += fmt.Sprintf(", about %s left", (took * time.Duration(left) / time.Duration(p.done)).Round(time.Second))
	}
	p.report(line)
}

// rows returns the server's estimate of a table's rows, for the progress only.
func (r *run) rows(ctx context.Context, table string) int {
	var n sql.NullInt64
	if err := r.tx.QueryRowContext(ctx, "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", table).Scan(&n); err != nil {
		return 0
	}
	return int(n.Int64)
}

// copyNotice announces the copy of a table, with an estimate of its duration.
func copyNotice(table string, rows, perSecond int) string {
	took := time.Duration(rows/perSecond+1) * time.Second
	return fmt.Sprintf("changing table %s: copying about %d rows takes about %s; the table is read-only meanwhile", table, rows, took)
}

// alter runs the statement that changes a table.
func (r *run) alter(ctx context.Context, table, ddl string) error {
	if ddl == "" {
		return nil
	}
	if n := r.rows(ctx, table); n > defaultBatch {
		r.progress.report(copyNotice(table, n, r.copies(table)))
	}
	began := r.progress.clock.Now()
	if _, err := r.tx.ExecContext(ctx, ddl); err != nil {
		return fmt.Errorf("%s: %w", firstLine(ddl), err)
	}
	if took := r.progress.clock.Since(began); took > reportInterval {
		r.progress.report(fmt.Sprintf("changed table %s in %s", table, took.Round(time.Second)))
	}
	return nil
}

// copies estimates how many rows a second the server copies: main tables contain documents.
func (r *run) copies(table string) int {
	const pairs, documents = 25_000, 8_000
	if strings.HasSuffix(table, "_labels") || strings.HasSuffix(table, "_annotations") {
		return pairs
	}
	return documents
}
