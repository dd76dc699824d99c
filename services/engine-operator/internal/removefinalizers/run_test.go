package removefinalizers

import "testing"

func TestObjectsGotCountsObjects(t *testing.T) {
	for n, want := range map[int]string{1: "1 object got", 2: "2 objects got"} {
		if got := objectsGot(n); got != want {
			t.Errorf("objectsGot(%d) = %q, want %q", n, got, want)
		}
	}
}
