package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// GetByName implements storage.MetadataStorage. Should two rows be live, which the
// writer prevents, the newest one answers.
func (s *Storage) GetByName(ctx context.Context, namespace, name string, object runtime.Object) error {
	return s.get(ctx, object, "namespace = ? AND name = ? AND delete_time IS NULL ORDER BY incarnation DESC, res_version DESC LIMIT 1", namespace, name)
}

// GetByID implements storage.MetadataStorage.
func (s *Storage) GetByID(ctx context.Context, uid string, object runtime.Object) error {
	return s.get(ctx, object, "uid = ? AND delete_time IS NULL", uid)
}

func (s *Storage) get(ctx context.Context, object runtime.Object, where string, args ...any) error {
	kind, err := s.kindOf(object)
	if err != nil {
		return err
	}
	var text []byte
	query := "SELECT json FROM " + schema.Quote(kind.Table) + " WHERE " + where
	err = s.db.QueryRowContext(ctx, query, args...).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s %v: %w", kind.Name, args, storage.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("read %s %v: %w", kind.Name, args, err)
	}
	if err := fill(object, text); err != nil {
		return fmt.Errorf("read %s %v: %w", kind.Name, args, err)
	}
	return nil
}
