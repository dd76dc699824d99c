package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/components"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/state"
)

// TestInterruptKeepsExistingStack interrupts an `up` on a stack that an earlier one has started.
func TestInterruptKeepsExistingStack(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "cluster")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := state.Load(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	s.Services = []string{"ingester"}
	a := &app{
		env:  &components.Env{Checkout: checkout.Checkout{Root: dir, Dir: dir}, State: s},
		info: func(string, ...any) {},
	}
	ctx, interrupt := context.WithCancel(t.Context())
	err = a.guarded(ctx, func() error {
		interrupt()
		return ctx.Err()
	})
	if !errors.Is(err, errInterrupted) || !strings.Contains(err.Error(), "kept") {
		t.Errorf("got error %v", err)
	}
	if _, err := os.Stat(data); err != nil {
		t.Error(err)
	}
}
