package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
)

const (
	// countedRange is the range of ids up to which the rows are counted. Beyond it the range
	// itself, an upper bound, is the depth: counting reads all rows.
	countedRange    = 100_000
	compactPage     = 10_000
	removeBatchSize = 1_000
	// maxSuperseded bounds the superseded events that one walk drops; the next walk drops more.
	maxSuperseded = 500_000
)

// measureIfDue measures if the interval since the last measurement is over.
func (r *Relay) measureIfDue(ctx context.Context) {
	select {
	case <-r.measureTimer.C():
		r.measure(ctx)
		r.measureTimer.Reset(measureInterval)
	default:
	}
}

// measure sets the gauges and keeps the table within its bound.
func (r *Relay) measure(ctx context.Context) {
	depth, lag, err := r.depth(ctx)
	if err != nil {
		return // the relay reports an unavailable database
	}
	r.cfg.Metrics.Depth.Set(float64(depth))
	r.cfg.Metrics.OutboxLag.Set(lag.Seconds())
	if depth <= r.cfg.MaxRows {
		return
	}
	if err := r.enforceBound(ctx); err != nil && ctx.Err() == nil {
		r.cfg.Metrics.Errors.WithLabelValues("publish", "compact").Inc()
		r.cfg.Log.Error(err, "Failed to compact the outbox")
	}
}

// depth returns the number of rows, or an upper bound, and the age of the oldest: by the clock that it was committed with, or
// since it was first measured, if that clock went back.
func (r *Relay) depth(ctx context.Context) (depth int64, lag time.Duration, err error) {
	var oldest, micros int64
	err = r.cfg.DB.QueryRowContext(ctx, "SELECT COALESCE(MAX(id) - MIN(id) + 1, 0), COALESCE(MIN(id), 0), COALESCE("+
		"(SELECT TIMESTAMPDIFF(MICROSECOND, committed_at, UTC_TIMESTAMP(6)) FROM outbox ORDER BY id LIMIT 1), 0) FROM outbox").
		Scan(&depth, &oldest, &micros)
	if err != nil {
		return 0, 0, fmt.Errorf("measure outbox: %w", err)
	}
	now := r.cfg.Clock.Now()
	if oldest != r.oldest {
		r.oldest, r.oldestSince = oldest, now
	}
	if depth > 0 {
		lag = max(time.Duration(micros)*time.Microsecond, now.Sub(r.oldestSince))
	}
	if depth > min(countedRange, r.cfg.MaxRows) {
		return depth, lag, nil
	}
	depth, err = r.count(ctx)
	return depth, lag, err
}

// count counts the rows, in pages: one statement over millions of rows would exceed the timeout of the connection.
func (r *Relay) count(ctx context.Context) (n int64, err error) {
	for last := int64(0); ; {
		var page int64
		err := r.cfg.DB.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MAX(id), 0) FROM"+
			" (SELECT id FROM outbox WHERE id > ? ORDER BY id LIMIT ?) AS page", last, compactPage).Scan(&page, &last)
		if err != nil {
			return 0, fmt.Errorf("count outbox: %w", err)
		}
		n += page
		if page < compactPage {
			return n, nil
		}
	}
}

// errOutboxFull is logged when events are dropped.
var errOutboxFull = errors.New("outbox is full: check the connection to the bus")

// enforceBound drops events until a tenth of the bound is free: first those that a later event of
// the same object supersedes, then the oldest ones.
func (r *Relay) enforceBound(ctx context.Context) error {
	depth, err := r.count(ctx)
	if err != nil || depth <= r.cfg.MaxRows {
		return err
	}
	excess := depth - r.cfg.MaxRows + r.cfg.MaxRows/10
	superseded, err := r.compact(ctx, excess)
	r.cfg.Metrics.Compacted.Add(float64(superseded))
	if superseded > 0 {
		r.cfg.Log.Error(errOutboxFull, "Dropped superseded change events", "events", superseded, "rows", depth, "bound", r.cfg.MaxRows)
	}
	if err != nil || superseded >= excess {
		return err
	}
	oldest, err := r.dropOldest(ctx, excess-superseded)
	r.cfg.Metrics.Compacted.Add(float64(oldest))
	if oldest > 0 {
		r.cfg.Log.Error(errOutboxFull, "Dropped the oldest change events, the last ones of their objects: subscribers must list the objects again",
			"events", oldest, "rows", depth, "bound", r.cfg.MaxRows)
	}
	return err
}

// dropOldest drops n rows.
func (r *Relay) dropOldest(ctx context.Context, n int64) (dropped int64, err error) {
	for dropped < n {
		result, err := r.cfg.DB.ExecContext(ctx, "DELETE FROM outbox ORDER BY id LIMIT ?", min(n-dropped, removeBatchSize))
		if err != nil {
			return dropped, fmt.Errorf("remove the oldest events: %w", err)
		}
		affected, err := result.RowsAffected()
		if err != nil || affected == 0 {
			return dropped, err
		}
		dropped += affected
	}
	return dropped, nil
}

// compact drops up to excess events that a later event of the same object supersedes, oldest
// first, and returns the number of dropped events. It keeps the last event of each object. It
// reads pages from the newest row to the oldest, and keeps only the most recently read uids in memory.
func (r *Relay) compact(ctx context.Context, excess int64) (int64, error) {
	excess = min(excess, maxSuperseded)
	if excess <= 0 {
		return 0, nil
	}
	seen := newRecent(r.cfg.Remembered)
	var superseded []int64 // the oldest so far, newest first
	for before := int64(math.MaxInt64); ; {
		page, err := r.page(ctx, before)
		if err != nil {
			return 0, err
		}
		for _, o := range page {
			if seen.add(o.uid) {
				superseded = append(superseded, o.id)
			}
		}
		superseded = slices.Clone(superseded[max(0, int64(len(superseded))-excess):])
		if len(page) < compactPage {
			break
		}
		before = page[len(page)-1].id
	}
	var dropped int64
	for end := len(superseded); end > 0; end -= removeBatchSize {
		part := superseded[max(0, end-removeBatchSize):end]
		if err := r.remove(ctx, part); err != nil {
			return dropped, err
		}
		dropped += int64(len(part))
	}
	return dropped, nil
}

// recent is a bounded set of the most recently added uids.
type recent struct {
	size              int
	current, previous map[string]struct{}
}

func newRecent(size int) *recent {
	return &recent{size: size, current: map[string]struct{}{}}
}

// add adds the uid and reports whether the set had it.
func (s *recent) add(uid string) bool {
	_, current := s.current[uid]
	_, previous := s.previous[uid]
	if len(s.current) >= s.size {
		s.current, s.previous = map[string]struct{}{}, s.current
	}
	s.current[uid] = struct{}{}
	return current || previous
}

// page reads ids and uids below an id, newest first.
func (r *Relay) page(ctx context.Context, before int64) (out []row, err error) {
	query := "SELECT id, uid FROM outbox WHERE id < ? ORDER BY id DESC LIMIT ?"
	err = database.EachRow(ctx, r.cfg.DB, query, []any{before, compactPage}, func(rows *sql.Rows) error {
		var o row
		if err := rows.Scan(&o.id, &o.uid); err != nil {
			return err
		}
		out = append(out, o)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return out, nil
}
