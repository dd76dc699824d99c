package writer

import (
	"sync"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// news remembers for which kinds the last large batch held new objects only. The next batch
// of such a kind probably does as well, so it does not read rows first: it is a plain insert,
// which fails if a row exists, and then the batch is retried with the read. The server saves
// a tenth of its time when many objects are new, and loses one insert when the guess is
// wrong.
type news struct {
	large int // objects that make a batch large

	mu    sync.Mutex
	kinds map[*registry.Kind]bool
}

func newNews(full int) *news {
	return &news{large: max(1, full/2), kinds: map[*registry.Kind]bool{}} //nolint:mnd // half a batch
}

// expected reports whether all of these records are probably of new objects.
func (n *news) expected(records []*record.Record) bool {
	if len(records) < n.large {
		return false // a wrong guess would cost more than a right one saves
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kinds[records[0].Kind]
}

// seen records the outcomes of a batch; no outcomes mean that a guess was wrong.
func (n *news) seen(records []*record.Record, outcomes []Outcome) {
	if len(records) < n.large {
		return
	}
	all := len(outcomes) > 0
	for _, o := range outcomes {
		all = all && (o == Created || o == Superseded)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kinds[records[0].Kind] = all
}
