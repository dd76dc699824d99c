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

	task                  string
	done, total           int
	startedAt, reportedAt time.Time
}

// start starts the work on total objects, an estimate of the server.
func (p *progress) start(task string, total int) {
	p.task, p.total, p.done = task, total, 0
	p.startedAt = p.clock.Now()
	p.reportedAt = p.startedAt
	if total > defaultBatch {
		p.report(fmt.Sprintf("%s: about %d rows", task, total))
	}
}

func (p *progress) add(n int) {
	p.done += n
	if p.clock.Since(p.reportedAt) < reportInterval {
		return
	}
	p.reportedAt = p.clock.Now()
	elapsed := p.clock.Since(p.startedAt)
	line := fmt.Sprintf("%s: %d of about %d rows in %s", p.task, p.done, max(p.done, p.total), elapsed.Round(time.Second))
	if remaining := p.total - p.done; remaining > 0 {
		line += fmt.Sprintf(", about %s left", (elapsed * time.Duration(remaining) / time.Duration(p.done)).Round(time.Second))
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
	duration := time.Duration(rows/perSecond+1) * time.Second
	return fmt.Sprintf("changing table %s: copying about %d rows takes about %s; the table is read-only meanwhile", table, rows, duration)
}

// alter runs the statement that changes a table.
func (r *run) alter(ctx context.Context, table, ddl string) error {
	if ddl == "" {
		return nil
	}
	if n := r.rows(ctx, table); n > defaultBatch {
		r.progress.report(copyNotice(table, n, r.copies(table)))
	}
	start := r.progress.clock.Now()
	if _, err := r.tx.ExecContext(ctx, ddl); err != nil {
		return fmt.Errorf("%s: %w", firstLine(ddl), err)
	}
	if elapsed := r.progress.clock.Since(start); elapsed > reportInterval {
		r.progress.report(fmt.Sprintf("changed table %s in %s", table, elapsed.Round(time.Second)))
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
