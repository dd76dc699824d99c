package decide_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
)

func TestFor(t *testing.T) {
	tests := map[string]struct {
		seen decide.Observed
		want decide.Action
	}{
		"a deleted object requires nothing":                      {decide.Observed{}, decide.Nothing},
		"a normal object is stored":                              {decide.Observed{Found: true, Finalizer: true}, decide.Sync},
		"an object without our finalizer is adopted":             {decide.Observed{Found: true}, decide.Adopt},
		"a terminating object is finished":                       {decide.Observed{Found: true, Terminating: true, Finalizer: true}, decide.Finish},
		"a terminating object without our finalizer is released": {decide.Observed{Found: true, Terminating: true}, decide.Release},
		"terminating wins over the deleting annotation":          {decide.Observed{Found: true, Terminating: true, Finalizer: true, DeletingMark: true}, decide.Finish},
		"the deleting annotation deletes":                        {decide.Observed{Found: true, Finalizer: true, DeletingMark: true}, decide.Delete},
		"the deleting annotation works without our finalizer":    {decide.Observed{Found: true, DeletingMark: true}, decide.Delete},
		"deleting wins over immutable":                           {decide.Observed{Found: true, Finalizer: true, DeletingMark: true, ImmutableMark: true}, decide.Delete},
		"the immutable annotation evicts":                        {decide.Observed{Found: true, Finalizer: true, ImmutableMark: true}, decide.Evict},
		"an eviction continues after our finalizer is removed":   {decide.Observed{Found: true, ImmutableMark: true}, decide.Evict},
		"an immutable kind is evicted when this is enabled":      {decide.Observed{Found: true, Finalizer: true, ImmutableKind: true}, decide.Evict},
		"an annotation on a released object is ignored":          {decide.Observed{Found: true, Terminating: true, ImmutableMark: true}, decide.Release},
		"an immutable object that a user deletes is finished":    {decide.Observed{Found: true, Terminating: true, Finalizer: true, ImmutableMark: true}, decide.Finish},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := decide.For(tc.seen); got != tc.want {
				t.Errorf("For(%+v) = %s, want %s", tc.seen, got, tc.want)
			}
		})
	}
}

// TestForIsSafe goes through all inputs and checks what must hold for each.
func TestForIsSafe(t *testing.T) {
	for bits := range 64 {
		on := func(n int) bool { return bits&(1<<n) != 0 }
		s := decide.Observed{Found: on(0), Terminating: on(1), Finalizer: on(2), DeletingMark: on(3), ImmutableMark: on(4), ImmutableKind: on(5)}
		got := decide.For(s)
		if got == decide.Adopt && (s.Terminating || s.Finalizer) {
			t.Errorf("%+v: adopts an object that is terminating or ours already", s)
		}
		if (got == decide.Delete || got == decide.Evict) && s.Terminating {
			t.Errorf("%+v: deletes an object that is being deleted", s)
		}
		if s.Found && got == decide.Nothing {
			t.Errorf("%+v: an object is ignored", s)
		}
		if s.Terminating && s.Found && s.Finalizer && got != decide.Finish {
			t.Errorf("%+v: %s would never finish the deletion", s, got)
		}
	}
}
