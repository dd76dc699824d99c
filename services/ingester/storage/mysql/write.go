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
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Upsert implements storage.MetadataStorage. The snapshot of an evicted object lacks
// our finalizer: in storage nothing is left to wait for.
func (s *Storage) Upsert(ctx context.Context, object runtime.Object, options ...storage.UpsertOption) error {
	var o storage.UpsertOptions
	for _, option := range options {
		option(&o)
	}
	if !o.Evicted {
		return s.write(ctx, object, record.Live)
	}
	snapshot, err := content(object)
	if err != nil {
		return err
	}
	snapshot = snapshot.DeepCopy()
	var keep []string
	for _, f := range snapshot.GetFinalizers() {
		if f != api.IngesterFinalizer {
			keep = append(keep, f)
		}
	}
	snapshot.SetFinalizers(keep)
	return s.write(ctx, snapshot, record.Evicted)
}

// Delete implements storage.MetadataStorage.
func (s *Storage) Delete(ctx context.Context, object runtime.Object) error {
	return s.write(ctx, object, record.Closed)
}

func (s *Storage) write(ctx context.Context, object runtime.Object, state record.State) error {
	u, err := content(object)
	if err != nil {
		return err
	}
	r, err := s.records.Build(u, state)
	if err != nil {
		if record.Rejected(err) {
			s.metrics.Errors.WithLabelValues("build", "rejected").Inc()
			return fmt.Errorf("%w: %w", storage.ErrRejected, err)
		}
		return err
	}
	r.TraceParent = traceParent(ctx)
	w, err := s.await(ctx)
	if err != nil {
		return err
	}
	outcome, err := w.Write(ctx, r)
	switch {
	case err != nil && database.Classify(err) == database.Content:
		return fmt.Errorf("%w: %w", storage.ErrRejected, err)
	case err != nil:
		return err
	case outcome == writer.Stale:
		return storage.ErrStale
	}
	return nil
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

// content returns the object as JSON content.
func content(object runtime.Object) (*unstructured.Unstructured, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, nil
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrRejected, err)
	}
	return &unstructured.Unstructured{Object: m}, nil
}

func traceParent(ctx context.Context) string {
	headers := map[string][]string{}
	telemetry.InjectHeaders(ctx, headers)
	for _, v := range headers["traceparent"] {
		return v
	}
	return ""
}
