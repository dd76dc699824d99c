package mysql

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// record makes the record of an object: from its bytes when it is one that the API
// server sent, else by way of a tree.
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
		return nil, s.unfit(err)
	}
	r.TraceParent = traceParent(ctx)
	return r, nil
}
