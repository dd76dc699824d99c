package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxAnswers bounds the memory; forgetting costs one request for each object.
const maxAnswers = 10_000

// answers remembers what the API server made of our applies where that cannot be
// seen on the object: differences that remained right after an apply (a webhook,
// or a value that is stored in another spelling) would look like drift for ever,
// and without managed fields nothing tells what we own. It is a cache: a new
// process learns it again.
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
