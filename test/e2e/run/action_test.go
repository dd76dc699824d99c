package run

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestActionsRunUntilFailure(t *testing.T) {
	var ran []string
	action := func(name string, err error) Action {
		return func(context.Context, *Step) error { ran = append(ran, name); return err }
	}
	broken := errors.New("broken")
	err := InOrder(action("a", nil), action("b", broken), action("c", nil))(t.Context(), nil)
	if !errors.Is(err, broken) || strings.Join(ran, "") != "ab" {
		t.Errorf("in order: %v after %v", err, ran)
	}
	if err := InOrder()(t.Context(), nil); err != nil {
		t.Errorf("without actions: %v", err)
	}
}

func TestParallelActionsJoinErrors(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	met := make(chan struct{})
	err := InParallel(
		func(context.Context, *Step) error { <-met; return first }, // ends only while the other one runs
		func(context.Context, *Step) error { close(met); return second },
	)(t.Context(), nil)
	if !errors.Is(err, first) || !errors.Is(err, second) {
		t.Error(err)
	}
}
