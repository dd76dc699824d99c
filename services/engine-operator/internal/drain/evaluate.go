package drain

import "time"

// Settle is the delay between the switch and the first sample of zero: clients and
// the gateway may use a stale address that long.
const Settle = 5 * time.Second

// Sample is one check of all running pods of a generation.
type Sample struct {
	At time.Time
	// Pods is the number of running pods.
	Pods int
	// Queries is the sum of running and suspended queries.
	Queries int
	// Err is set if a pod could not be queried; Queries is then incomplete.
	Err error
}

// State is kept between two checks of the same generation.
type State struct {
	Generation int64
	// Zeros counts the consecutive samples of zero.
	Zeros int
	// Last is the time of the latest sample of zero.
	Last time.Time
}

// Evaluate adds a sample to the state and reports whether the generation is drained. switched is
// when traffic was routed away from the generation, interval the time between two samples: an earlier check, because
// another event enqueued the engine, does not count as another sample.
func Evaluate(m State, s Sample, switched time.Time, interval time.Duration) (State, bool) {
	switch {
	case s.Err != nil || s.Queries > 0:
		m.Zeros, m.Last = 0, time.Time{}
		return m, false
	case s.Pods == 0:
		return m, true // without a running pod no query can run
	case s.At.Before(switched.Add(Settle)):
		return m, false
	case m.Zeros > 0 && s.At.Before(m.Last.Add(interval)):
		return m, false
	}
	m.Zeros, m.Last = m.Zeros+1, s.At
	return m, m.Zeros >= 2
}
