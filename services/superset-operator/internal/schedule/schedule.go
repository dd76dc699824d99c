package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ErrNever means that a valid expression never matches a time, for example the 30th of February.
var ErrNever = errors.New("the expression never matches a time")

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// maxSetBack is by how much the clock may be set back without a scheduled time running twice. An absurd clock for a
// moment must not suspend the schedule for longer.
const maxSetBack = 24 * time.Hour

// At returns the latest scheduled time that is not after now, and the first one after
// now, both in UTC. A frozen scheduled time replaces the former: a sequence that
// started with it finishes with it. So does the last scheduled time that ran, if it is
// later, since the clock was set back: an earlier one must not run again.
func At(expr string, now time.Time, frozen, last *time.Time) (due, next time.Time, err error) {
	// The parser accepts a time zone as a prefix, which a schedule here must not have.
	if strings.Contains(expr, "=") {
		return time.Time{}, time.Time{}, fmt.Errorf("parse cron expression %q: it must have five fields and no time zone", expr)
	}
	times, err := parser.Parse(expr)
	if err != nil {
		return time.Time{}, time.Time{}, fmt.Errorf("parse cron expression %q: %w", expr, err)
	}
	now = now.UTC().Truncate(time.Minute)
	next = after(times, now)
	if next.IsZero() {
		return time.Time{}, time.Time{}, fmt.Errorf("parse cron expression %q: %w", expr, ErrNever)
	}
	if frozen != nil {
		return frozen.UTC(), next, nil
	}
	if last != nil && last.After(now) && last.Sub(now) < maxSetBack && after(times, last.UTC().Add(-time.Second)).Equal(*last) {
		return last.UTC(), next, nil
	}
	return latest(times, now), next, nil
}

// maxInterval is more than the longest time between two 29ths of February.
const maxInterval = 9 * 366 * 24 * time.Hour

// latest returns the last scheduled time, by binary search, since schedules only compute
// the next one: a scheduled time lies between t and now only for t before the last one.
func latest(times cron.Schedule, now time.Time) time.Time {
	due := func(t time.Time) bool {
		n := after(times, t)
		return !n.IsZero() && !n.After(now)
	}
	span := time.Minute
	for span < maxInterval && !due(now.Add(-span)) {
		span *= 2
	}
	low, high := now.Add(-span), now
	for high.Sub(low) > time.Minute {
		middle := low.Add(high.Sub(low) / 2).Truncate(time.Minute)
		if due(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// after returns the first scheduled time after t; zero if there is none. The library
// searches five years ahead, and a 29th of February around 2100 is further away.
func after(times cron.Schedule, t time.Time) time.Time {
	next := times.Next(t)
	if next.IsZero() {
		next = times.Next(t.AddDate(5, 0, 0))
	}
	return next
}
