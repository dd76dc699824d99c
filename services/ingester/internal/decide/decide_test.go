package decide_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
)

func TestFor(t *testing.T) {
	tests := map[string]struct {
		seen decide.Observed
		want decide.Action
	}{
		"a normal object is stored":                              {decide.Observed{Finalizer: true}, decide.Sync},
		"an object without our finalizer is adopted":             {decide.Observed{}, decide.Adopt},
		"a terminating object is finished":                       {decide.Observed{Terminating: true, Finalizer: true}, decide.Finish},
		"a terminating object without our finalizer is released": {decide.Observed{Terminating: true}, decide.Release},
		"terminating wins over the deleting annotation":          {decide.Observed{Terminating: true, Finalizer: true, DeletingMark: true}, decide.Finish},
		"the deleting annotation deletes":                        {decide.Observed{Finalizer: true, DeletingMark: true}, decide.Delete},
		"the deleting annotation works without our finalizer":    {decide.Observed{DeletingMark: true}, decide.Delete},
		"deleting wins over immutable":                           {decide.Observed{Finalizer: true, DeletingMark: true, ImmutableMark: true}, decide.Delete},
		"the immutable annotation evicts":                        {decide.Observed{Finalizer: true, ImmutableMark: true}, decide.Evict},
		"an eviction continues after our finalizer is removed":   {decide.Observed{ImmutableMark: true}, decide.Evict},
		"an immutable kind is evicted when this is enabled":      {decide.Observed{Finalizer: true, ImmutableKind: true}, decide.Evict},
		"an annotation on a released object is ignored":          {decide.Observed{Terminating: true, ImmutableMark: true}, decide.Release},
		"an immutable object that a user deletes is finished":    {decide.Observed{Terminating: true, Finalizer: true, ImmutableMark: true}, decide.Finish},
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
	for bits := range 32 {
		on := func(n int) bool { return bits&(1<<n) != 0 }
		s := decide.Observed{Terminating: on(0), Finalizer: on(1), DeletingMark: on(2), ImmutableMark: on(3), ImmutableKind: on(4)}
		got := decide.For(s)
		if got == decide.Adopt && (s.Terminating || s.Finalizer) {
			t.Errorf("%+v: adopts an object that is terminating or ours already", s)
		}
		if (got == decide.Delete || got == decide.Evict) && s.Terminating {
			t.Errorf("%+v: deletes an object that is being deleted", s)
		}
		if got == "" {
			t.Errorf("%+v: an object is ignored", s)
		}
		if s.Terminating && s.Finalizer && got != decide.Finish {
			t.Errorf("%+v: %s would never finish the deletion", s, got)
		}
	}
}

func TestObserve(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		object metav1.ObjectMeta
		want   decide.Observed
		held   bool
	}{
		"a new object":            {metav1.ObjectMeta{}, decide.Observed{}, false},
		"our finalizer":           {metav1.ObjectMeta{Finalizers: []string{"example.com/a", api.IngesterFinalizer}}, decide.Observed{Finalizer: true}, false},
		"a terminating object":    {metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{api.IngesterFinalizer}}, decide.Observed{Terminating: true, Finalizer: true}, false},
		"foreign finalizers":      {metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{"example.com/a"}}, decide.Observed{Terminating: true}, true},
		"annotations":             {metav1.ObjectMeta{Annotations: map[string]string{api.DeletingAnnotation: "true", api.ImmutableAnnotation: "true"}}, decide.Observed{DeletingMark: true, ImmutableMark: true}, false},
		"annotations of no value": {metav1.ObjectMeta{Annotations: map[string]string{api.DeletingAnnotation: "no", api.ImmutableAnnotation: ""}}, decide.Observed{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decide.Observe(&tc.object, false); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			tc.want.ImmutableKind = true
			if got := decide.Observe(&tc.object, true); got != tc.want {
				t.Errorf("immutable kind: got %+v, want %+v", got, tc.want)
			}
			if held := decide.HeldByOthers(&tc.object); held != tc.held {
				t.Errorf("held by others: %t, want %t", held, tc.held)
			}
		})
	}
}
