package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxCacheEntries limits the cache. A full one drops any entry for a new one, which costs
// one request for its object. Reconciles visit all objects in turn, so beyond the limit an
// LRU would drop each entry before its next use.
const maxCacheEntries = 100_000

// applyCache keeps the results of own applies that the object does not show:
// differences that remained right after an apply (a webhook, or a value that is stored
// in another spelling) would look like permanent drift, and without managed fields
// the owned fields are unknown. It is a cache: a new process fills it again.
type applyCache struct {
	mu    sync.Mutex
	byUID map[types.UID]applied
}

// applied holds the hash of an applied configuration and the differences that remained.
type applied struct {
	hash  string
	found differences
}

func (a *applyCache) record(uid types.UID, entry applied) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byUID == nil {
		a.byUID = map[types.UID]applied{}
	}
	if _, known := a.byUID[uid]; !known && len(a.byUID) >= maxCacheEntries {
		for dropped := range a.byUID {
			delete(a.byUID, dropped)
			break
		}
	}
	a.byUID[uid] = entry
}

func (a *applyCache) contains(uid types.UID, want applied) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	entry, ok := a.byUID[uid]
	return ok && entry.hash == want.hash && entry.found.equal(want.found)
}

func (a *applyCache) remove(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byUID, uid)
}
