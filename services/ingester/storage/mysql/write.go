package mysql

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/telemetry"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Upsert implements storage.MetadataStorage.
func (s *Storage) Upsert(ctx context.Context, object runtime.Object, direct bool, indexedFields []storage.IndexedField) error {
	if direct {
		return s.updateDirectly(ctx, object, indexedFields)
	}
	return s.write(ctx, object, record.Live, indexedFields)
}

// Evict implements storage.Keeper. The stored state of an evicted object lacks our
// finalizer: in storage nothing is left to wait for.
func (s *Storage) Evict(ctx context.Context, object runtime.Object) error {
	u, _, err := s.content(object)
	if err != nil {
		return err
	}
	snapshot := u.DeepCopy()
	var keep []string
	for _, f := range snapshot.GetFinalizers() {
		if f != api.IngesterFinalizer {
			keep = append(keep, f)
		}
	}
	snapshot.SetFinalizers(keep)
	return s.write(ctx, snapshot, record.Evicted, nil)
}

// Finish implements storage.Keeper.
func (s *Storage) Finish(ctx context.Context, object runtime.Object) error {
	return s.write(ctx, object, record.Closed, nil)
}

// Release implements storage.Keeper.
func (s *Storage) Release(ctx context.Context, object runtime.Object) error {
	return s.write(ctx, object, record.Released, nil)
}

func (s *Storage) write(ctx context.Context, object runtime.Object, state record.State, fields []storage.IndexedField) error {
	ctx, span := telemetry.Child(ctx, scope, "store")
	outcome, err := s.commit(ctx, object, state, fields)
	if span.IsRecording() {
		span.SetAttributes(telemetry.AttrOutcome.String(string(outcome)))
	}
	telemetry.End(span, "store", err)
	switch {
	case err != nil:
		return err
	case outcome == writer.Stale:
		return storage.ErrStale
	}
	return nil
}

const scope = "github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"

func (s *Storage) commit(ctx context.Context, object runtime.Object, state record.State, fields []storage.IndexedField) (writer.Outcome, error) {
	r, err := s.record(ctx, object, state, fields)
	if err != nil {
		return "", err
	}
	w, err := s.await(ctx)
	if err != nil {
		return "", err
	}
	outcome, err := w.Write(ctx, r)
	if err != nil {
		return "", notWritten(refused(nested(err, r.JSON)))
	}
	return outcome, nil
}

// build makes the record of an object; given fields override what follows from it.
func (s *Storage) build(u *unstructured.Unstructured, state record.State, kind *registry.Kind, fields []storage.IndexedField, trace string) (*record.Record, error) {
	given, err := overrides(kind, fields)
	if err != nil {
		return nil, err
	}
	r, err := s.records.Build(u, state)
	if err != nil {
		return nil, s.unfit(err)
	}
	for _, o := range given {
		r.Indexed[o.column] = o.value
	}
	r.TraceParent = trace
	return r, nil
}

// unfit wraps an error that the content of an object causes.
func (s *Storage) unfit(err error) error {
	if !record.Rejected(err) {
		return err
	}
	s.metrics.Errors.WithLabelValues("build", "rejected").Inc()
	return fmt.Errorf("%w: %w", storage.ErrRejected, err)
}

// notWritten wraps a database error, unless the object or a shutdown is the cause.
func notWritten(err error) error {
	if errors.Is(err, storage.ErrRejected) || errors.Is(err, context.Canceled) || errors.Is(err, writer.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", storage.ErrNotWritten, err)
}

// nested names the field of a document that is nested too deep: of valid JSON that is what the database refuses.
func nested(err error, document string) error {
	if !database.TooDeep(err) {
		return err
	}
	path, levels, decodeErr := record.Deepest(document)
	if decodeErr != nil {
		return errors.Join(err, decodeErr)
	}
	return fmt.Errorf("%w (%w)", wire.Within(path, wire.Invalid("is nested %d levels deep; MariaDB stores 31, MySQL 100", levels)), err)
}

// refused wraps an error that the content of a row causes.
func refused(err error) error {
	if database.Classify(err) == database.Content {
		return fmt.Errorf("%w: %w", storage.ErrRejected, err)
	}
	return err
}

// await returns the writer once the incarnation is settled.
func (s *Storage) await(ctx context.Context) (*writer.Writer, error) {
	select {
	case <-s.settled:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.writer, nil
	case <-ctx.Done():
		return nil, errors.Join(storage.ErrNotReady, ctx.Err())
	}
}

func traceParent(ctx context.Context) string {
	if !telemetry.Traced(ctx) {
		return ""
	}
	headers := map[string][]string{}
	telemetry.InjectHeaders(ctx, headers)
	for _, v := range headers["traceparent"] {
		return v
	}
	return ""
}
