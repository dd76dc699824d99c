package drain

import "time"

// Settle is how long after the switch the first sample of zero may be taken: clients and
// the gateway may use an old address that much longer.
const Settle = 5 * time.Second

// Sample is one check of all running pods of a generation.
type Sample struct {
	At time.Time
	// Pods is how many running pods there were.
	Pods int
	// Queries is the sum of running and suspended queries.
	Queries int
	// Err is why a pod could not be queried; Queries is then incomplete.
	Err error
}

// State is the state that is kept between two checks of the same generation.
type State struct {
	Generation int64
	// Zeros counts the samples of zero in a row.
	Zeros int
	// Last is when the newest sample of zero was taken.
	Last time.Time
}

// Evaluate takes a sample into account. switched is when traffic was moved away, interval
// the time between two samples: an earlier check, because something else enqueued the
// engine, does not count as another sample.
func Evaluate(m State, s Sample, switched time.Time, interval time.Duration) (State, bool) {
	switch {
	case s.Err != nil || s.Queries > 0:
		m.Zeros, m.Last = 0, time.Time{}
		return m, false
	case s.Pods == 0:
		return m, true // no pod is left that could run a query
	case s.At.Before(switched.Add(Settle)):
		return m, false
	case m.Zeros > 0 && s.At.Before(m.Last.Add(interval)):
		return m, false
	}
	m.Zeros, m.Last = m.Zeros+1, s.At
	return m, m.Zeros >= 2
}
