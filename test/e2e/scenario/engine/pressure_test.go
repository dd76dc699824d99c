package engine

import "testing"

func TestSpillIsBetweenThresholds(t *testing.T) {
	const mi = 1 << 20
	for name, tc := range map[string]struct {
		available, capacity int64
		soft, hard          string
		want                int64 // 0: an error
	}{
		"quantities":            {1000 * mi, 1024 * mi, "512Mi", "64Mi", 712 * mi},
		"percentages":           {1000 * mi, 1000 * mi, "50%", "10%", 700 * mi},
		"no hard threshold":     {1000 * mi, 1000 * mi, "50%", "", 750 * mi},
		"no soft threshold":     {1000 * mi, 1024 * mi, "", "64Mi", 0},
		"hard above soft":       {1000 * mi, 1024 * mi, "64Mi", "512Mi", 0},
		"the disk of a machine": {40960 * mi, 250000 * mi, "512Mi", "64Mi", 0},
		"less than soft":        {100 * mi, 1024 * mi, "512Mi", "64Mi", 0},
		"invalid quantity":      {1000 * mi, 1024 * mi, "much", "64Mi", 0},
		"invalid percentage":    {1000 * mi, 1024 * mi, "half%", "64Mi", 0},
	} {
		got, err := fillSize(tc.available, tc.capacity, tc.soft, tc.hard)
		if got != tc.want || (err == nil) != (tc.want > 0) {
			t.Errorf("%s: %d, %v; want %d", name, got, err, tc.want)
		}
	}
}
