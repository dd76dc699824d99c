package writer

import (
	"slices"
	"sync"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// insertHint records for which kinds the last large batch had new objects only. The next batch of
// such a kind probably does as well, so it does not read rows first: it is a plain insert, which
// fails if a row exists, and then the batch is retried with the read. The server saves a tenth of
// its time if many objects are new, and loses one insert if the hint is wrong.
type insertHint struct {
	large int // objects that make a batch large

	mu    sync.Mutex
	kinds map[*registry.Kind]bool
}

func newInsertHint(full int) *insertHint {
	return &insertHint{large: max(1, full/2), kinds: map[*registry.Kind]bool{}} // half a batch
}

// applies reports whether all of these records are probably of new objects. Released objects are not, and a plain insert
// would not show it.
func (h *insertHint) applies(records []*record.Record) bool {
	if len(records) < h.large {
		return false // a wrong hint would cost more than a right one saves
	}
	if slices.ContainsFunc(records, func(r *record.Record) bool { return r.State == record.Released }) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kinds[records[0].Kind]
}

// update records the outcomes of a batch; no outcomes mean that the hint was wrong.
func (h *insertHint) update(records []*record.Record, outcomes []Outcome) {
	if len(records) < h.large {
		return
	}
	all := len(outcomes) > 0
	for _, o := range outcomes {
		all = all && (o == Created || o == Superseded)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kinds[records[0].Kind] = all
}
