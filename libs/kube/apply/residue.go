package apply

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxResidues bounds the memory; forgetting costs one request for each object.
const maxResidues = 10_000

// residues remembers which differences remained right after an apply. They are
// what the API server, or a webhook, makes of our object, and would else look
// like drift for ever. It is a cache: a new process learns it again.
type residues struct {
	mu    sync.Mutex
	byUID map[types.UID]residue
}

type residue struct {
	hash  string
	found differences
}

func (r *residues) remember(uid types.UID, hash string, found differences) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(found) == 0 {
		delete(r.byUID, uid)
		return
	}
	if r.byUID == nil || len(r.byUID) >= maxResidues {
		r.byUID = map[types.UID]residue{}
	}
	r.byUID[uid] = residue{hash: hash, found: found}
}

func (r *residues) known(uid types.UID, hash string, found differences) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.byUID[uid]
	return ok && known.hash == hash && slices.Equal(known.found, found)
}

func (r *residues) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byUID, uid)
}
