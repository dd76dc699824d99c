package failover

import (
	"slices"
	"testing"
	"time"
)

func TestObserve(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a, b := server{name: "a:3306/1", started: 1000}, server{name: "b:3306/2", started: 900}
	restarted := server{name: a.name, started: a.started + 60}
	tests := map[string]struct {
		found []server // one each minute
		want  []int    // the minutes with a comparison
	}{
		"the same server":             {[]server{a, a, a}, nil},
		"readings differ by a second": {[]server{a, {a.name, 1001}, {a.name, 999}, {a.name, 1002}}, nil},
		"a failover":                  {[]server{a, a, b, b}, []int{2}},
		"a restart":                   {[]server{a, restarted, restarted}, []int{1}},
		"the clock was set back":      {[]server{a, {a.name, 100}}, []int{1}},
		"fails back within 15 minutes": {
			[]server{a, b, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a}, []int{1, 16},
		},
		"a proxy balances connections": {
			[]server{a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b}, []int{1, 16, 31},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var s state
			var got []int
			for minute, found := range tc.found {
				since, due := s.observe(found, now.Add(time.Duration(minute)*time.Minute))
				if !due {
					continue
				}
				got = append(got, minute)
				if minutes := int(since.Sub(now).Minutes()); minutes >= minute {
					t.Errorf("in minute %d, commits may be lost since minute %d", minute, minutes)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("compared in minutes %v, want %v", got, tc.want)
			}
		})
	}
}
