//go:build products

package products

import (
	"slices"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

const (
	oldKey = "the key before, long enough for anybody to use"
	newKey = "the key now, which is quite another one indeed"
)

func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// forEachRelease runs a test with each release on each kind of database.
func forEachRelease(t *testing.T, test func(t *testing.T, i installation)) {
	t.Helper()
	for _, release := range []string{release60, release61} {
		for kind, newStore := range stores() {
			t.Run(release+"/"+kind, func(t *testing.T) {
				s := newStore(t)
				test(t, installation{release: release, store: s, secrets: map[string]string{
					"old/key": oldKey, "new/key": newKey, "wrong/key": "a key that was never right, however long", "db/key": s.password,
				}})
			})
		}
	}
}

// rotating returns the edit that changes the key.
func rotating(current, previous string) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) {
		s.SecretKeyFrom, s.PreviousSecretKeyFrom = key(current), key(previous)
		s.Lifecycle = &v1alpha1.LifecycleSpec{Rotate: &v1alpha1.RotateTaskSpec{}}
	}
}

func keyed(current string) func(*v1alpha1.SupersetSpec) {
	return func(s *v1alpha1.SupersetSpec) { s.SecretKeyFrom = key(current) }
}

// TestRotation covers the change of a key: the preflight, the rotation, and the texts that the product reads
// afterwards.
func TestRotation(t *testing.T) {
	forEachRelease(t, func(t *testing.T, i installation) {
		i.task(t, "migrate").succeeds()
		web := func(edit ...func(*v1alpha1.SupersetSpec)) *container {
			return i.with(edit...).component(t, "web-server")
		}
		web().python("store.py")
		before, raw := web().python("read.py"), i.store.encrypted(t)

		// Keys that do not decrypt are rejected, and nothing is written.
		message := i.with(keyed("new")).task(t, "preflight").fails()
		contains(t, message, "the secret key does not decrypt 13 of 13 stored secrets", "spec.previousSecretKeyFrom", "2 in dbs.server_cert")
		contains(t, i.with(rotating("new", "wrong")).task(t, "preflight").fails(), "neither key decrypts 13 of 13 stored secrets")
		contains(t, i.with(rotating("new", "wrong")).task(t, "rotate").fails(), "neither key decrypts 13 of 13 stored secrets")
		if i.store.encrypted(t) != raw {
			t.Fatal("a wrong key changed stored secrets")
		}
		equal(t, i.task(t, "preflight").succeeds(), `{"columns": 9, "values": 13, "previousKey": 0}`)
		equal(t, i.with(rotating("new", "old")).task(t, "preflight").succeeds(), `{"columns": 9, "values": 13, "previousKey": 13}`)

		// The product's command changes nothing, so the operator has its own program.
		rotate := i.with(rotating("new", "old")).task(t, "rotate")
		if code, output := rotate.exec("superset", "re-encrypt-secrets"); code != 0 {
			t.Errorf("superset re-encrypt-secrets, which changes nothing, exits with %d: %s", code, tail(output))
		}
		if i.store.encrypted(t) != raw {
			t.Error("superset re-encrypt-secrets works: remove the operator's own program")
		}

		equal(t, rotate.succeeds(), `{"columns": 9, "values": 13, "reencrypted": 13}`)
		equal(t, web(keyed("new")).python("read.py"), before)
		if !strings.Contains(web().python("read.py"), `"dbs.password": "?"`) {
			t.Error("the old key still decrypts stored secrets")
		}
		// A repeated rotation changes nothing, and the old key is no longer needed.
		after := i.store.encrypted(t)
		equal(t, i.with(rotating("new", "old")).task(t, "rotate").succeeds(), `{"columns": 9, "values": 13, "reencrypted": 0}`)
		equal(t, i.with(keyed("new")).task(t, "preflight").succeeds(), `{"columns": 9, "values": 13, "previousKey": 0}`)
		contains(t, i.task(t, "preflight").fails(), "the secret key does not decrypt 13 of 13 stored secrets")
		if i.store.encrypted(t) != after {
			t.Error("a repeated rotation changed stored secrets")
		}
		i.with(keyed("new")).task(t, "init").succeeds()
	})
}

// TestRotationWithUpgrade changes key and release in one edit.
func TestRotationWithUpgrade(t *testing.T) {
	for kind, newStore := range stores() {
		t.Run(kind, func(t *testing.T) {
			s := newStore(t)
			i := installation{release: release60, store: s, secrets: map[string]string{"old/key": oldKey, "new/key": newKey, "db/key": s.password}}
			i.task(t, "migrate").succeeds()
			i.component(t, "web-server").python("store.py")
			before := i.component(t, "web-server").python("read.py")
			next := i.upgraded(release61).with(rotating("new", "old"))
			equal(t, next.task(t, "preflight").succeeds(), `{"columns": 9, "values": 13, "previousKey": 13}`)
			next.task(t, "migrate").succeeds()
			equal(t, next.task(t, "rotate").succeeds(), `{"columns": 9, "values": 13, "reencrypted": 13}`)
			next.task(t, "init").succeeds()
			equal(t, next.component(t, "web-server").python("read.py"), before)
		})
	}
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}
