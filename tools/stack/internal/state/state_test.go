package state_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/state"
)

func load(t *testing.T, path string) *state.State {
	t.Helper()
	s, err := state.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func port(t *testing.T, f func(string) (int, error), use string) int {
	t.Helper()
	p, err := f(use)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPortsPersistAcrossRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "state.json")
	first := load(t, path)
	nats, mysql := port(t, first.Port, "nats"), port(t, first.Port, "mysql")
	if nats == mysql {
		t.Errorf("one port for two uses: %d", nats)
	}
	second := load(t, path)
	got := map[string]int{"nats": port(t, second.Port, "nats"), "mysql": port(t, second.Assign, "mysql")}
	if diff := cmp.Diff(map[string]int{"nats": nats, "mysql": mysql}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettleReplacesForeignPort(t *testing.T) {
	s := load(t, filepath.Join(t.TempDir(), "state.json"))
	taken := port(t, s.Port, "nats")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", freeport.Address(taken))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	if second := port(t, s.Port, "nats"); second != taken {
		t.Errorf("Port moved from %d to %d while its server runs", taken, second)
	}
	if other := port(t, s.Assign, "nats"); other == taken {
		t.Errorf("Settle stays on %d, which is in use", taken)
	}
}

func TestServicesPersistAcrossRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := load(t, path)
	s.Services = []string{"ingester"}
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ingester"}, load(t, path).Services); diff != "" {
		t.Error(diff)
	}
}

func TestLoadErrorNamesBrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}
