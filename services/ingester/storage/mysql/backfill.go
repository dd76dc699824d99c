package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

const (
	backfillBatch = 500
	// backfillPage is the number of rows that are read and rewritten at a time.
	backfillPage = 100
	// maxOvertaken is the maximum number of changes of a row between its read and its rewrite; further
	// ones are an error. With each change another writer has made progress.
	maxOvertaken = 50
	// maxRejected is the number of rejected objects that an error names.
	maxRejected = 10
)

// Backfill implements storage.MetadataStorage.
//
// A call ends after the last row of a creation time, however many rows share it, and returns the
// creation time of the next row. So no row is skipped or repeated without end.
func (s *Storage) Backfill(ctx context.Context, prepare storage.PrepareBackfillParams, options storage.BackfillOptions) (*time.Time, error) {
	b, err := s.newBackfill(prepare, options)
	if err != nil {
		return nil, err
	}
	next, err := b.run(ctx)
	if err != nil {
		return next, fmt.Errorf("backfill %s: %w", b.kind.Name, err)
	}
	if b.rejections > 0 {
		return next, fmt.Errorf("backfill %s: %s: %w", b.kind.Name, skipped(b.rejections), errors.Join(b.rejected...))
	}
	return next, nil
}

func skipped(objects int) string {
	if objects == 1 {
		return "1 object was skipped"
	}
	return fmt.Sprintf("%d objects were skipped", objects)
}

// backfill is one call.
type backfill struct {
	s       *Storage
	kind    *registry.Kind
	prepare storage.PrepareBackfillParams
	options storage.BackfillOptions

	done       int // rows so far
	last       *candidate
	rejections int
	rejected   []error
}

func (s *Storage) newBackfill(prepare storage.PrepareBackfillParams, o storage.BackfillOptions) (*backfill, error) {
	kind, ok := s.kinds.Lookup(o.Kind)
	switch {
	case !ok:
		return nil, invalid("backfill: kind %q is not registered", o.Kind)
	case !slices.Contains([]string{storage.BackfillIndex, storage.BackfillBlob, storage.BackfillAll}, o.Command):
		return nil, invalid("backfill: got command %q, want %q, %q or %q", o.Command, storage.BackfillIndex, storage.BackfillBlob, storage.BackfillAll)
	case o.BatchSize < 0:
		return nil, invalid("backfill: batch size %d is negative", o.BatchSize)
	case slices.Contains(o.NameSpaces, ""):
		return nil, invalid("backfill: a namespace is empty")
	}
	if o.BatchSize == 0 {
		o.BatchSize = backfillBatch
	}
	if prepare == nil {
		prepare = func(object runtime.Object) (*storage.BackfillParams, error) {
			return &storage.BackfillParams{Object: object}, nil
		}
	}
	return &backfill{s: s, kind: kind, prepare: prepare, options: o}, nil
}

// run rewrites rows until the batch is full, and returns the creation time at which to continue.
func (b *backfill) run(ctx context.Context) (*time.Time, error) {
	for {
		page, err := b.next(ctx)
		if err != nil {
			return b.position(), err
		}
		uids, next := b.splitBatch(page)
		if err := b.rewrite(ctx, uids); err != nil {
			return b.position(), err
		}
		if next != nil {
			return next, nil
		}
		if len(page) < backfillPage {
			return nil, nil
		}
		b.last = &page[len(page)-1]
	}
}

// splitBatch selects rows until the batch is full and a creation time ends; next is the following creation time.
func (b *backfill) splitBatch(page []candidate) (uids []string, next *time.Time) {
	previous := b.last
	for i := range page {
		row := &page[i]
		if b.done+len(uids) >= b.options.BatchSize && previous != nil && !previous.CreateTime.Equal(row.CreateTime) {
			return uids, &row.CreateTime
		}
		previous = row
		if b.selects(*row) {
			uids = append(uids, row.UID)
		}
	}
	return uids, nil
}

// position returns where to continue after an error: the creation time of the row in progress.
func (b *backfill) position() *time.Time {
	if b.last == nil {
		return &b.options.StartTime
	}
	return &b.last.CreateTime
}

// rewrite rewrites rows. It reads rows that changed meanwhile again and retries.
func (b *backfill) rewrite(ctx context.Context, uids []string) error {
	var overtaken *record.Record
	remaining := uids
	for range maxOvertaken {
		rows, err := b.read(ctx, remaining)
		if err != nil {
			return err
		}
		stale, err := b.rewriteOnce(ctx, rows)
		if err != nil {
			return err
		}
		if len(stale) == 0 {
			b.done += len(uids)
			return nil
		}
		remaining = nil
		for _, overtaken = range stale {
			remaining = append(remaining, overtaken.UID)
		}
	}
	return fmt.Errorf("%w: %s %s/%s keeps changing", storage.ErrConflict, b.kind.Name, overtaken.Namespace, overtaken.Name)
}

// rewriteOnce rewrites rows and returns the records of those that have another version by now.
func (b *backfill) rewriteOnce(ctx context.Context, rows []*oldRow) (stale []*record.Record, err error) {
	var rewrites []writer.Rewrite
	for _, row := range rows {
		r, err := b.rewriteOf(row)
		switch {
		case errors.Is(err, storage.ErrRejected):
			b.reject(row, err)
		case err != nil:
			return nil, fmt.Errorf("%s/%s: %w", row.Namespace, row.Name, err)
		case r != nil:
			rewrites = append(rewrites, *r)
		}
	}
	outcomes, err := b.s.direct.Rewrite(ctx, b.kind, rewrites)
	if err != nil {
		return nil, err
	}
	for i, o := range outcomes {
		if o == writer.Stale {
			stale = append(stale, rewrites[i].Record)
		}
	}
	return stale, nil
}

// reject counts an object that cannot be stored. The backfill continues: one bad object must not
// keep all others from being rewritten.
func (b *backfill) reject(row *oldRow, err error) {
	b.rejections++
	if len(b.rejected) < maxRejected {
		b.rejected = append(b.rejected, fmt.Errorf("%s/%s: %w", row.Namespace, row.Name, err))
	}
}
