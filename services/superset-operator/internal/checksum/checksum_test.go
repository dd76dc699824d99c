package checksum_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
)

// TestSumIsPinned pins a fingerprint. When it changes, every task of
// every installation runs again: raise Scheme and translate instead.
func TestSumIsPinned(t *testing.T) {
	const want = "sha256:"
	got := checksum.New("task/Migrate").String("image", "apache/superset:6.0.0").List("command", []string{"a", "b"}).Sum()
	if len(got) != len(want)+64 || got != pinned {
		t.Errorf("want %s, got %s", pinned, got)
	}
}

const pinned = "sha256:9094f3255b81080be8b0a15a5f30975e1b8060b8e2012a744dfca18c1ac11063"

func TestDifferentInputsHaveDifferentSums(t *testing.T) {
	empty := ""
	zero := int32(0)
	inputs := map[string]*checksum.Builder{
		"nothing":              checksum.New("k"),
		"another kind":         checksum.New("l"),
		"an empty string":      checksum.New("k").String("a", ""),
		"an empty optional":    checksum.New("k").Optional("b", &empty),
		"shifted boundaries":   checksum.New("k").String("a", "bc"),
		"shifted boundaries 2": checksum.New("k").String("ab", "c"),
		"one word":             checksum.New("k").List("c", []string{"a b"}),
		"two words":            checksum.New("k").List("c", []string{"a", "b"}),
		"a map":                checksum.New("k").Map("m", map[string]string{"a": "b"}),
		"another key":          checksum.New("k").Map("m", map[string]string{"b": "b"}),
		"another value":        checksum.New("k").Map("m", map[string]string{"a": "c"}),
		"a zero":               checksum.New("k").Int("n", &zero),
		"true":                 checksum.New("k").Bool("t", true),
		"a Secret reference":   checksum.New("k").SecretRef("s", &corev1.SecretKeySelector{Key: "k"}),
	}
	seen := map[string]string{}
	for name, b := range inputs {
		sum := b.Sum()
		if other, found := seen[sum]; found {
			t.Errorf("%q and %q have the same fingerprint", name, other)
		}
		seen[sum] = name
	}
}

func TestAbsentInputsKeepSum(t *testing.T) {
	want := checksum.New("k").Sum()
	got := checksum.New("k").Optional("a", nil).Int("b", nil).List("c", nil).Map("m", map[string]string{}).SecretRef("d", nil).Bool("e", false).Sum()
	if got != want {
		t.Error("an absent input changed the fingerprint")
	}
}

func TestRandomPairsHaveDifferentSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		a, b := [2]string{text.Draw(t, "n1"), text.Draw(t, "v1")}, [2]string{text.Draw(t, "n2"), text.Draw(t, "v2")}
		first, second := checksum.New("k").String(a[0], a[1]).Sum(), checksum.New("k").String(b[0], b[1]).Sum()
		if (a == b) != (first == second) {
			t.Fatalf("%q and %q: %s and %s", a, b, first, second)
		}
	})
}
