package names

import "testing"

func TestGenerationOfReadsNameOnly(t *testing.T) {
	cases := []struct {
		name string
		of   func(string, int64) string
		want int64
	}{
		{"a-g0", Generation, 0},
		{"a-g17", Generation, 17},
		{"a-g17-hl", Headless, 17},
		{"a-g17-config", Config, 17},
		{"a-g2147483647", Generation, MaxGeneration},
		{"a-g2147483648", Generation, -1},
		{"a-g9223372036854775807", Generation, -1},
		{"a-g99999999999999999999", Generation, -1},
		{"a-g07", Generation, -1},
		{"a-g-1", Generation, -1},
		{"a-g+1", Generation, -1},
		{"a-g", Generation, -1},
		{"a-g1-hl", Generation, -1},
		{"a-g1", Headless, -1},
		{"a-b-g1", Generation, -1},
		{"b-g1", Generation, -1},
	}
	for _, tc := range cases {
		n, ok := GenerationOf(tc.name, "a", tc.of)
		if ok != (tc.want >= 0) || ok && n != tc.want {
			t.Errorf("GenerationOf(%q) = %d, %t; want %d", tc.name, n, ok, tc.want)
		}
	}
}
