package model

import (
	"maps"
	"slices"
	"sync"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Store holds the objects by name. It is safe for concurrent use.
type Store struct {
	mu         sync.RWMutex
	objects    map[contract.Ref]Object
	generation int // of the stream
}

// Position is a position in the stream of observations.
type Position struct {
	// Generation counts how often the stream was re-created: sequences of different generations are not comparable.
	Generation int
	// Sequence is 0 if there is no observation, or only those of a former generation.
	Sequence uint64
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

// LatestPosition returns the position of the latest observation of a name.
func (s *Store) LatestPosition(ref contract.Ref) Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Position{s.generation, s.objects[ref].latestSequence()}
}

// PositionOf returns the position of the latest observation of one incarnation.
func (s *Store) PositionOf(ref contract.Ref, uid string) Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Position{s.generation, s.objects[ref].sequenceOf(uid)}
}

// IsCurrent reports whether a position belongs to the current generation of the stream.
func (s *Store) IsCurrent(p Position) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return p.Generation == s.generation
}

// DeleteUpTo drops the observations of a name up to a position, once no object of that name exists. A position of a former
// generation drops nothing: the observations have other sequences now.
func (s *Store) DeleteUpTo(ref contract.Ref, p Position) {
	s.keep(ref, func(o Object) Object {
		if p.Generation != s.generation {
			return o
		}
		return o.after(p.Sequence)
	})
}

// DeleteFormer drops the observations of a name that only a former generation of the stream had.
func (s *Store) DeleteFormer(ref contract.Ref) {
	s.keep(ref, func(o Object) Object { return o.after(0) })
}

// keep replaces the observations of a name. It calls change with the lock held.
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

// StreamRecreated begins a generation of the stream, and applies [Object.StreamRecreated] to all objects.
func (s *Store) StreamRecreated() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	s.allLocked(Object.StreamRecreated)
}

// Retained applies [Object.Retained] to all objects.
func (s *Store) Retained() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allLocked(Object.Retained)
}

func (s *Store) allLocked(change func(Object) Object) {
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
