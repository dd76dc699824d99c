package status

import "testing"

func TestPodsCountsPods(t *testing.T) {
	for n, want := range map[int32]string{0: "0 pods", 1: "1 pod", 2: "2 pods"} {
		if got := pods(n); got != want {
			t.Errorf("pods(%d) = %q, want %q", n, got, want)
		}
	}
}
