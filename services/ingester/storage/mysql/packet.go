package mysql

import (
	"context"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// checkSize rejects a record that the server would reject for a value longer than max_allowed_packet: it would fail its batch, and
// cost its connection. The limit is read again before each rejection, since it may have been raised.
func (s *Storage) checkSize(ctx context.Context, r *record.Record) error {
	name, size := r.Longest()
	if int64(size) <= s.maxPacket.Load() {
		return nil
	}
	limit, err := database.MaxPacket(ctx, s.db)
	if err != nil {
		return notWritten(err)
	}
	if previous := s.maxPacket.Swap(limit); previous != 0 && previous < limit {
		database.CloseIdle(s.db, s.pool) // they keep the lower limit
	}
	if int64(size) <= limit {
		return nil
	}
	s.metrics.Errors.WithLabelValues("build", "rejected").Inc()
	return fmt.Errorf("%w: its %s has %d bytes, and max_allowed_packet of the server is %d: raise max_allowed_packet",
		storage.ErrRejected, name, size, limit)
}
