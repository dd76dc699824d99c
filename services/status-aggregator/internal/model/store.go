package model

import (
	"maps"
	"slices"
	"sync"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Store holds the objects by name. It is safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	objects map[contract.Ref]Object
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{objects: map[contract.Ref]Object{}}
}

// Merge adds an observation of one name.
func (s *Store) Merge(ref contract.Ref, h Received) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, outcome := s.objects[ref].Merge(h)
	s.objects[ref] = object
	return outcome
}

// Get returns the observations of one name.
func (s *Store) Get(ref contract.Ref) Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[ref]
}

// Forget drops one incarnation of a name after its object was deleted.
func (s *Store) Forget(ref contract.Ref, uid string) {
	s.keep(ref, func(o Object) Object { return o.Without(uid) })
}

// DeleteUpTo drops the observations of a name up to a stream sequence, once no object of that name exists.
func (s *Store) DeleteUpTo(ref contract.Ref, sequence uint64) {
	s.keep(ref, func(o Object) Object { return o.After(sequence) })
}

func (s *Store) keep(ref contract.Ref, change func(Object) Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := change(s.objects[ref]); left.Empty() {
		delete(s.objects, ref)
	} else {
		s.objects[ref] = left
	}
}

// Prune applies [Object.Prune] to one name.
func (s *Store) Prune(ref contract.Ref, uid, resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object, ok := s.objects[ref]; ok && len(object.incarnations) > 1 {
		s.objects[ref] = object.Prune(uid, resourceVersion)
	}
}

// StreamRecreated applies [Object.StreamRecreated] to all objects.
func (s *Store) StreamRecreated() { s.all(Object.StreamRecreated) }

// Retained applies [Object.Retained] to all objects.
func (s *Store) Retained() { s.all(Object.Retained) }

func (s *Store) all(change func(Object) Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, object := range s.objects {
		s.objects[ref] = change(object)
	}
}

// Refs returns the names with observations, in no particular order.
func (s *Store) Refs() []contract.Ref {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.objects))
}

// Len returns the number of names with observations.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects)
}
