package checkout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
)

const modules = `# path   kind   released
libs/bus            lib      yes
services/a/api      api      yes
services/a          service  yes
services/b          service  yes
`

func newCheckout(t *testing.T) checkout.Checkout {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "modules.txt"), []byte(modules), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "services", "a", "cmd", "a"), 0o750); err != nil {
		t.Fatal(err)
	}
	return checkout.Checkout{Root: root}
}

func TestServicesComeFromModules(t *testing.T) {
	got, err := newCheckout(t).Services()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestChoose(t *testing.T) {
	cases := map[string]struct {
		list    string
		want    []string
		problem string
	}{
		"one service":                         {list: "a", want: []string{"a"}},
		"separated by commas and spaces":      {list: "a, a", want: []string{"a", "a"}},
		"a service that is not built":         {list: "b", problem: "services/b/cmd/b"},
		"all services, one of them not built": {list: "", problem: "--services"},
		"an unknown service":                  {list: "c", problem: "want one of a, b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := newCheckout(t).Choose(tc.list)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (tc.problem == "") || (err != nil && !strings.Contains(err.Error(), tc.problem)) {
				t.Errorf("got error %v, want one with %q", err, tc.problem)
			}
		})
	}
}

func TestCheckoutsHaveUniqueNames(t *testing.T) {
	one, two := newCheckout(t), newCheckout(t)
	if one.ID() == two.ID() || one.Marker() == two.Marker() {
		t.Errorf("%s and %s have the same ID", one.Root, two.Root)
	}
	if second := (checkout.Checkout{Root: one.Root}); second.ID() != one.ID() {
		t.Error("the ID of a checkout changes")
	}
}

func TestFindReturnsThisCheckout(t *testing.T) {
	c, err := checkout.Find()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Path("tools", "stack", "main.go")); err != nil {
		t.Errorf("found %s: %v", c.Root, err)
	}
}

func TestOwnDirectoryMakesSeparateStack(t *testing.T) {
	mainCheckout := newCheckout(t)
	other := checkout.Checkout{Root: mainCheckout.Root, Dir: t.TempDir()}
	if got, want := other.Log("nats"), filepath.Join(other.Dir, "log", "nats.log"); got != want {
		t.Errorf("log %q instead of %q", got, want)
	}
	if other.ID() == mainCheckout.ID() || other.Marker() == mainCheckout.Marker() {
		t.Errorf("both stacks have ID %q and marker %q", other.ID(), other.Marker())
	}
}
