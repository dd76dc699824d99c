package outbox

import (
	"strconv"
	"testing"
)

func TestRecentIsBounded(t *testing.T) {
	const size = 4
	s := newRecent(size)
	for i := range 100 {
		s.add(strconv.Itoa(i))
		if n := len(s.current) + len(s.previous); n > 2*size {
			t.Fatalf("%d uids in memory after %d, want at most %d", n, i+1, 2*size)
		}
	}
}
