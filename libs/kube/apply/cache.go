package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxAnswers limits the cache; a dropped entry costs one request for its object.
const maxAnswers = 10_000

// answers remembers the results of our applies that the object does not show:
// differences that remained right after an apply (a webhook, or a value that is stored
// in another spelling) would look like permanent drift, and without managed fields
// the owned fields are unknown. It is a cache: a new process fills it again.
type answers struct {
	mu    sync.Mutex
	byUID map[types.UID]answer
}

// answer is what was applied, by hash, and what differed afterwards.
type answer struct {
	hash  string
	found differences
}

func (a *answers) remember(uid types.UID, given answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byUID == nil || len(a.byUID) >= maxAnswers {
		a.byUID = map[types.UID]answer{}
	}
	a.byUID[uid] = given
}

func (a *answers) known(uid types.UID, asked answer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	given, ok := a.byUID[uid]
	return ok && given.hash == asked.hash && given.found.equal(asked.found)
}

func (a *answers) forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byUID, uid)
}
