package removefinalizers

import "testing"

func TestIncompleteCountsObjects(t *testing.T) {
	const again = " got the finalizer again while it was removed; is an operator running?"
	for want, n := range map[string][2]int{
		"1 object" + again:                                     {0, 1},
		"2 objects" + again:                                    {0, 2},
		"patches of 1 object were rejected":                    {1, 0},
		"patches of 2 objects were rejected; 1 object" + again: {2, 1},
	} {
		if err := incomplete(n[0], n[1]); err == nil || err.Error() != want {
			t.Errorf("incomplete(%d, %d) = %v, want %q", n[0], n[1], err, want)
		}
	}
	if err := incomplete(0, 0); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}
