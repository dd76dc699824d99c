package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/telemetry"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
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
	return s.store(ctx, object, record.Live, indexedFields)
}

// Evict implements storage.IngesterStorage.
func (s *Storage) Evict(ctx context.Context, object runtime.Object) error {
	u, _, err := s.content(object)
	if err != nil {
		return err
	}
	return s.store(ctx, beforeEviction(u), record.Evicted, nil)
}

// beforeEviction returns an object without what its eviction leaves on it: our finalizer, which has no purpose in
// storage, and the finalizer of the garbage collector with the times of that deletion. The stored object is not terminating.
func beforeEviction(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := u.DeepCopy()
	var keep []string
	for _, f := range out.GetFinalizers() {
		switch f {
		case api.IngesterFinalizer:
		case metav1.FinalizerOrphanDependents:
			out.SetDeletionTimestamp(nil)
			out.SetDeletionGracePeriodSeconds(nil)
		default:
			keep = append(keep, f)
		}
	}
	out.SetFinalizers(keep)
	return out
}

// Finish implements storage.IngesterStorage.
func (s *Storage) Finish(ctx context.Context, object runtime.Object) error {
	return s.store(ctx, object, record.Closed, nil)
}

// Release implements storage.IngesterStorage.
func (s *Storage) Release(ctx context.Context, object runtime.Object) error {
	m, err := meta.Accessor(object)
	if err != nil || !slices.Contains(m.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		return s.store(ctx, object, record.Released, nil)
	}
	u, _, err := s.content(object)
	if err != nil {
		return err
	}
	return s.store(ctx, beforeEviction(u), record.Released, nil)
}

// Reopen implements storage.IngesterStorage.
func (s *Storage) Reopen(ctx context.Context, object runtime.Object) error {
	return s.store(ctx, object, record.Confirmed, nil)
}

// store writes the record of an object, in a span, and maps its outcome to an error.
func (s *Storage) store(ctx context.Context, object runtime.Object, state record.State, fields []storage.IndexedField) error {
	ctx, span := telemetry.Child(ctx, scope, "store")
	outcome, err := s.enqueue(ctx, object, state, fields)
	if span.IsRecording() {
		span.SetAttributes(telemetry.AttrOutcome.String(string(outcome)))
	}
	telemetry.End(span, "store", err)
	switch {
	case err != nil:
		return err
	case outcome == writer.Stale:
		return storage.ErrStale
	case outcome == writer.Unconfirmed:
		return storage.ErrUnconfirmed
	case outcome == writer.NotFound:
		return storage.ErrNotFound
	}
	return nil
}

const scope = "github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"

// enqueue builds the record of an object, passes it to the writer and waits for its outcome.
func (s *Storage) enqueue(ctx context.Context, object runtime.Object, state record.State, fields []storage.IndexedField) (writer.Outcome, error) {
	r, err := s.record(ctx, object, state, fields)
	if err != nil {
		return "", err
	}
	w, err := s.await(ctx)
	if err != nil {
		return "", err
	}
	if err := s.checkSize(ctx, r); err != nil {
		return "", err
	}
	outcome, err := w.Write(ctx, r)
	if database.TooLong(err) {
		s.maxPacket.Store(0) // it has been lowered
		if err := s.checkSize(ctx, r); err != nil {
			return "", err
		}
	}
	if err != nil {
		return "", notWritten(rejected(nested(err, r.JSON)))
	}
	return outcome, nil
}

// build builds the record of an object; given fields override the computed columns.
func (s *Storage) build(u *unstructured.Unstructured, state record.State, kind *registry.Kind, fields []storage.IndexedField, trace string) (*record.Record, error) {
	given, err := overrides(kind, fields)
	if err != nil {
		return nil, err
	}
	r, err := s.records.Build(u, state)
	if err != nil {
		return nil, s.rejectedRecord(err)
	}
	for _, o := range given {
		r.Indexed[o.column] = o.value
	}
	r.TraceParent = trace
	return r, nil
}

// rejectedRecord wraps an error that the content of an object causes in storage.ErrRejected.
func (s *Storage) rejectedRecord(err error) error {
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

// nested adds the field that is nested too deep to an error of the database.
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

// rejected wraps an error that the content of a row causes in storage.ErrRejected.
func rejected(err error) error {
	if database.Classify(err) == database.Content {
		return fmt.Errorf("%w: %w", storage.ErrRejected, err)
	}
	return err
}

// await returns the writer once the incarnation is set.
func (s *Storage) await(ctx context.Context) (*writer.Writer, error) {
	select {
	case <-s.started:
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

// record builds the record of an object: from its bytes if the API server sent them, otherwise
// from a tree.
func (s *Storage) record(ctx context.Context, o runtime.Object, state record.State, fields []storage.IndexedField) (*record.Record, error) {
	sent, ok := o.(*object.Object)
	if !ok || len(fields) > 0 {
		u, kind, err := s.content(o)
		if err != nil {
			return nil, err
		}
		return s.build(u, state, kind, fields, traceParent(ctx))
	}
	r, err := s.records.FromObject(sent, state)
	if err != nil {
		return nil, s.rejectedRecord(err)
	}
	r.TraceParent = traceParent(ctx)
	return r, nil
}
