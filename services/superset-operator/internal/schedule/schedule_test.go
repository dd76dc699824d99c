package schedule_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/schedule"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAt(t *testing.T) {
	cases := map[string]struct{ expr, now, tick, next string }{
		"daily":                       {"0 2 * * *", "2026-11-21T12:00:00Z", "2026-11-21T02:00:00Z", "2026-11-22T02:00:00Z"},
		"before the first of day":     {"0 2 * * *", "2026-11-21T01:59:59Z", "2026-11-20T02:00:00Z", "2026-11-21T02:00:00Z"},
		"exactly at a scheduled time": {"0 2 * * *", "2026-11-21T02:00:00Z", "2026-11-21T02:00:00Z", "2026-11-22T02:00:00Z"},
		"just after a scheduled time": {"0 2 * * *", "2026-11-21T02:00:00.5Z", "2026-11-21T02:00:00Z", "2026-11-22T02:00:00Z"},
		"each minute":                 {"* * * * *", "2026-11-21T12:00:59Z", "2026-11-21T12:00:00Z", "2026-11-21T12:01:00Z"},
		"in UTC, wherever now is":     {"0 2 * * *", "2026-11-21T02:30:00+05:00", "2026-11-20T02:00:00Z", "2026-11-21T02:00:00Z"},
		"yearly":                      {"30 4 1 1 *", "2026-11-21T12:00:00Z", "2026-01-01T04:30:00Z", "2027-01-01T04:30:00Z"},
		"a burst long ago":            {"* * 1 1 *", "2026-11-21T12:00:00Z", "2026-01-01T23:59:00Z", "2027-01-01T00:00:00Z"},
		"leap days":                   {"0 0 29 2 *", "2026-11-21T12:00:00Z", "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"},
		"leap days around 2100":       {"0 0 29 2 *", "2097-01-01T00:00:00Z", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		"names, lists and steps":      {"*/15 9-17 * * MON,FRI", "2026-11-21T12:00:00Z", "2026-11-20T17:45:00Z", "2026-11-23T09:00:00Z"},
		"day of month or of week":     {"0 0 13 * 5", "2026-11-21T12:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z"},
		"several spaces in between":   {"0  2   * * *", "2026-11-21T12:00:00Z", "2026-11-21T02:00:00Z", "2026-11-22T02:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			due, next, err := schedule.At(tc.expr, at(t, tc.now), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := due.Format(time.RFC3339); got != tc.tick {
				t.Errorf("scheduled time: got %s, want %s", got, tc.tick)
			}
			if got := next.Format(time.RFC3339); got != tc.next {
				t.Errorf("next: got %s, want %s", got, tc.next)
			}
		})
	}
}

func TestLastTimeDoesNotRunAgain(t *testing.T) {
	cases := map[string]struct{ expr, now, last, want string }{
		"the clock was set back":            {"0 2 * * *", "2026-11-21T01:55:00Z", "2026-11-21T02:00:00Z", "2026-11-21T02:00:00Z"},
		"the time comes again":              {"0 2 * * *", "2026-11-21T02:00:00Z", "2026-11-21T02:00:00Z", "2026-11-21T02:00:00Z"},
		"the next time":                     {"0 2 * * *", "2026-11-22T02:00:00Z", "2026-11-21T02:00:00Z", "2026-11-22T02:00:00Z"},
		"monthly":                           {"0 3 1 * *", "2026-11-01T02:59:00Z", "2026-11-01T03:00:00Z", "2026-11-01T03:00:00Z"},
		"the clock was wrong by days":       {"0 2 * * *", "2026-11-21T12:00:00Z", "2026-11-25T02:00:00Z", "2026-11-21T02:00:00Z"},
		"the last time of another schedule": {"0 3 * * *", "2026-11-21T01:55:00Z", "2026-11-21T02:00:00Z", "2026-11-20T03:00:00Z"},
		"a schedule that became rarer":      {"0 2 * * 1", "2026-11-21T12:00:00Z", "2026-11-21T02:00:00Z", "2026-11-16T02:00:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			last := at(t, tc.last)
			due, _, err := schedule.At(tc.expr, at(t, tc.now), nil, &last)
			if err != nil || !due.Equal(at(t, tc.want)) {
				t.Errorf("got %s, %v, want %s", due.Format(time.RFC3339), err, tc.want)
			}
		})
	}
}

func TestFrozenTimeStays(t *testing.T) {
	frozen := at(t, "2026-11-20T02:00:00Z")
	due, next, err := schedule.At("0 2 * * *", at(t, "2026-11-21T12:00:00Z"), &frozen, nil)
	if err != nil || !due.Equal(frozen) || !next.Equal(at(t, "2026-11-22T02:00:00Z")) {
		t.Errorf("got %s, %s, %v", due, next, err)
	}
}

func TestExpressionsWithoutTimeAreErrors(t *testing.T) {
	cases := map[string]struct {
		expr  string
		never bool
	}{
		"the 30th of February": {"0 0 30 2 *", true},
		"the 31st of April":    {"0 0 31 4 *", true},
		"minute 60":            {"60 * * * *", false},
		"day 7 of the week":    {"0 0 * * 7", false},
		"a step of zero":       {"*/0 * * * *", false},
		"a reversed range":     {"30-10 * * * *", false},
		"words":                {"a b c d e", false},
		"four fields":          {"0 2 * *", false},
		"six fields":           {"0 0 2 * * *", false},
		"a descriptor":         {"@daily", false},
		"a time zone":          {"TZ=UTC 0 2 * * *", false},
		"only a time zone":     {"TZ=0", false},
		"nothing":              {"", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := schedule.At(tc.expr, at(t, "2026-11-21T12:00:00Z"), nil, nil)
			if err == nil {
				t.Fatal("want an error")
			}
			if errors.Is(err, schedule.ErrNever) != tc.never {
				t.Errorf("never matches a time: want %v, got %v", tc.never, err)
			}
		})
	}
}

// TestScheduledTimesAreAdjacent checks that no scheduled time lies between the latest one and the next one.
func TestScheduledTimesAreAdjacent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		expr := rapid.SampledFrom([]string{
			"* * * * *", "*/7 * * * *", "0 2 * * *", "59 23 31 12 *", "0 0 29 2 *", "13 4 1,15 */3 1", "0 0 1 1 *", "* * 1 1 *",
		}).Draw(rt, "expr")
		now := time.Unix(rapid.Int64Range(1_700_000_000, 3_900_000_000).Draw(rt, "now"), 0)
		due, next, err := schedule.At(expr, now, nil, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if due.After(now) || !next.After(now) {
			rt.Fatalf("%s is not between %s and %s", now.UTC(), due, next)
		}
		before, following, err := schedule.At(expr, due.Add(-time.Second), nil, nil)
		if err != nil || !following.Equal(due) || !before.Before(due) {
			rt.Fatalf("the scheduled time after %s is %s (%v), want %s", before, following, err, due)
		}
		latest, _, err := schedule.At(expr, next.Add(-time.Second), nil, nil)
		if err != nil || !latest.Equal(due) {
			rt.Fatalf("just before %s the latest scheduled time is %s (%v), want %s", next, latest, err, due)
		}
	})
}

func FuzzAt(f *testing.F) {
	f.Add("0 2 * * *", int64(1_800_000_000))
	f.Add("0 0 30 2 *", int64(0))
	f.Add("TZ=0", int64(0))
	f.Fuzz(func(t *testing.T, expr string, seconds int64) {
		now := time.Unix(seconds%4_000_000_000, 0)
		due, next, err := schedule.At(expr, now, nil, nil)
		if err == nil && (due.After(now) || !next.After(now)) {
			t.Errorf("%q at %s: got %s and %s", expr, now, due, next)
		}
	})
}

func BenchmarkAtYearly(b *testing.B) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for b.Loop() {
		if _, _, err := schedule.At("0 0 29 2 *", now, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}
