package statement

import (
	"fmt"
	"testing"
)

func TestSplitAndPadUseCachedSizes(t *testing.T) {
	c := NewCache(nil)
	split := func(c *Cache, n int) (sizes []int) {
		next := 0
		for start, end := range c.Split(n) {
			if start != next {
				t.Errorf("a part of %d rows begins at %d instead of %d", n, start, next)
			}
			sizes, next = append(sizes, end-start), end
		}
		if next != n {
			t.Errorf("%d of %d rows", next, n)
		}
		return sizes
	}
	for n, want := range map[int]string{0: "[]", 1: "[1]", 9: "[5 2 2]", 10: "[10]", 63: "[50 10 2 1]", 100: "[50 50]", 145: "[50 50 20 20 5]"} {
		if got := fmt.Sprint(split(c, n)); got != want {
			t.Errorf("%d rows are split to %s, want %s", n, got, want)
		}
	}
	if got := fmt.Sprint(split(nil, 63)); got != "[63]" {
		t.Errorf("without a cache 63 rows are split to %s", got)
	}
	for n, want := range map[int]int{0: 0, 1: 1, 2: 10, 10: 10, 11: 50, 51: 100, 100: 100, 101: 101} {
		values := make([]any, 0, n)
		for i := range n {
			values = append(values, i)
		}
		got := Pad(c, values)
		if len(got) != want || n > 0 && got[len(got)-1] != n-1 {
			t.Errorf("%d values are padded to %d, want %d of which the last ones are equal", n, len(got), want)
		}
	}
}
