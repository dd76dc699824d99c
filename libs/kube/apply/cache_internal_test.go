package apply

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// Reconciles record their objects in turn, more of them than the cache holds.
func TestCacheKeepsEntriesWhenFull(t *testing.T) {
	var cache applyCache
	entry := applied{hash: "h"}
	uid := func(i int) types.UID { return types.UID(strconv.Itoa(i)) }
	for i := range maxCacheEntries {
		cache.record(uid(i), entry)
	}
	cache.record(uid(0), entry)
	for i := range maxCacheEntries {
		if !cache.contains(uid(i), entry) {
			t.Fatalf("recording a known object dropped object %d", i)
		}
	}
	const added = 100
	for i := range added {
		cache.record(uid(maxCacheEntries+i), entry)
	}
	if got := len(cache.byUID); got != maxCacheEntries {
		t.Errorf("the cache has %d entries, want %d", got, maxCacheEntries)
	}
	if last := uid(maxCacheEntries + added - 1); !cache.contains(last, entry) {
		t.Error("the cache lacks the newest object")
	}
}
