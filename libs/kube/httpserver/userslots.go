package httpserver

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"
)

// UserSlots limit how much runs concurrently for one user, so that no user can occupy all [Slots].
type UserSlots struct {
	limit int64

	mu     sync.Mutex
	byUser map[string]*slotsOfUser
}

// slotsOfUser exist while the user has a slot or waits for one.
type slotsOfUser struct {
	*semaphore.Weighted
	pending int
}

// NewUserSlots returns slots with a limit per user; zero means unlimited.
func NewUserSlots(limit int) *UserSlots {
	return &UserSlots{limit: cmp.Or(int64(limit), math.MaxInt64), byUser: map[string]*slotsOfUser{}}
}

// TryAcquire takes a slot of the user and reports whether one was free. [UserSlots.Release] returns it.
func (s *UserSlots) TryAcquire(user string) bool {
	if s.enter(user).TryAcquire(1) {
		return true
	}
	s.leave(user)
	return false
}

// Acquire waits for a slot of the user. [UserSlots.Release] returns it. The error is that of ctx.
func (s *UserSlots) Acquire(ctx context.Context, user string) error {
	err := s.enter(user).Acquire(ctx, 1)
	if err != nil {
		s.leave(user)
	}
	return err
}

// Release returns a slot of the user.
func (s *UserSlots) Release(user string) { s.leave(user).Release(1) }

func (s *UserSlots) enter(user string) *slotsOfUser {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots, ok := s.byUser[user]
	if !ok {
		slots = &slotsOfUser{Weighted: semaphore.NewWeighted(s.limit)}
		s.byUser[user] = slots
	}
	slots.pending++
	return slots
}

func (s *UserSlots) leave(user string) *slotsOfUser {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := s.byUser[user]
	if slots.pending--; slots.pending == 0 {
		delete(s.byUser, user)
	}
	return slots
}

// LimitedPerUser is [Limited] for the requests of each authenticated user.
func LimitedPerUser(slots *UserSlots, user func(*http.Request) string, reject http.HandlerFunc, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := user(r)
		if !slots.TryAcquire(name) {
			reject(w, r)
			return
		}
		defer slots.Release(name)
		next.ServeHTTP(w, r)
	})
}
