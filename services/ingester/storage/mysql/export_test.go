package mysql

import (
	"database/sql"
	"sync/atomic"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
)

// Reads returns the pool of the queries.
func (s *Storage) Reads() *sql.DB { return s.reads }

// AlternatePlans makes every second request with labels use the plan for labels that match many
// objects.
func (s *Storage) AlternatePlans() {
	var n atomic.Int64
	s.selective = func() int {
		if n.Add(1)%2 == 0 {
			return -1
		}
		return query.Selective
	}
}
