package passed_test

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/tools/release/internal/passed"
)

func TestKeyDependsOnAllParts(t *testing.T) {
	base := map[string]string{"a": "1", "b": "2"}
	key := passed.Key("unit", "go1", base)
	if second := passed.Key("unit", "go1", map[string]string{"b": "2", "a": "1"}); second != key {
		t.Errorf("the same content has two keys")
	}
	for name, other := range map[string]string{
		"check":     passed.Key("stack", "go1", base),
		"toolchain": passed.Key("unit", "go2", base),
		"content":   passed.Key("unit", "go1", map[string]string{"a": "1", "b": "3"}),
		"path":      passed.Key("unit", "go1", map[string]string{"a": "1", "c": "2"}),
		"file":      passed.Key("unit", "go1", map[string]string{"a": "1"}),
	} {
		if other == key {
			t.Errorf("another %s has the same key", name)
		}
	}
}

func TestStorePrunesUnusedKeys(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	store := passed.Store{Dir: t.TempDir(), Now: func() time.Time { return now }}
	used, unused := passed.Key("used", "", nil), passed.Key("unused", "", nil)
	add := func(key string) {
		t.Helper()
		if err := store.Add(key); err != nil {
			t.Fatal(err)
		}
	}
	has := func(key string) bool {
		t.Helper()
		_, found, err := store.Since(key)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	add(used)
	add(unused)
	now = now.AddDate(0, 0, 20)
	if !has(used) {
		t.Fatal("a record of 20 days was removed")
	}
	now = now.AddDate(0, 0, 20)
	add(passed.Key("other", "", nil))
	if !has(used) || has(unused) {
		t.Errorf("after 40 days: used %t, unused %t", has(used), has(unused))
	}
}
