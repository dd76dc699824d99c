package httpserver

import (
	"context"
	"errors"
	"testing"
)

func TestWaitForSlotEndsWithContext(t *testing.T) {
	const limit = 3
	s := NewUserSlots(limit)
	for range limit {
		if err := s.Acquire(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Acquire(ctx, "ada"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if s.TryAcquire("ada") {
		t.Error("got a slot more than the limit")
	}
	for range limit {
		if len(s.byUser) != 1 {
			t.Errorf("slots of %d users, want 1", len(s.byUser))
		}
		s.Release("ada")
	}
	if len(s.byUser) != 0 {
		t.Errorf("slots of %d users are left", len(s.byUser))
	}
}

func TestReleasedSlotGoesToWaiting(t *testing.T) {
	s := NewUserSlots(1)
	if !s.TryAcquire("ada") {
		t.Fatal("got no slot")
	}
	acquired := make(chan error)
	go func() { acquired <- s.Acquire(t.Context(), "ada") }()
	s.Release("ada")
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
	s.Release("ada")
	if len(s.byUser) != 0 {
		t.Errorf("slots of %d users are left", len(s.byUser))
	}
}
