package sweep

import "fmt"

// reason is why nothing was closed. It is the label of a metric.
type reason string

// Reasons of an abort.
const (
	otherCluster reason = "cluster"   // the cluster cannot be read, or storage belongs to another one
	behind       reason = "behind"    // storage was restored from an older backup
	unreadable   reason = "rows"      // MySQL is unavailable
	unserved     reason = "unserved"  // the cluster does not serve the kind
	unlisted     reason = "list"      // the list failed, perhaps halfway
	older        reason = "older"     // the list is older than what storage has seen
	empty        reason = "empty"     // not one object is left
	threshold    reason = "threshold" // too many rows would be closed
	unconfirmed  reason = "object"    // the second read of an object failed
	unclosed     reason = "close"     // the rows could not be closed
)

// abort is the error that carries a reason.
type abort struct {
	reason reason
	err    error
}

func (a *abort) Error() string { return a.err.Error() }
func (a *abort) Unwrap() error { return a.err }

// suspicious reports whether a person should investigate: the cluster answers, but not as expected.
func (a *abort) suspicious() bool {
	return a.reason == older || a.reason == empty || a.reason == threshold
}

// sight is the result of one comparison of a kind.
type sight struct {
	// rows should be in the cluster, lost is how many of them the list does not have.
	rows, lost int
	// newest is the highest version among rows of the cluster's incarnation.
	newest int64
	// objects is the length of the list, version its resource version.
	objects int
	version int64
}

// Limits of a plausible sweep.
const (
	// manyRows and manyPercent: a sweep that would close more than both closes none.
	manyRows    = 100
	manyPercent = 20
	// fewRows of a kind may all be orphans.
	fewRows = 10
)

// judge returns an abort if nothing may be closed; nil means that the lost rows may be
// checked one by one. It is pure.
func judge(s sight) *abort {
	refuse := func(r reason, format string, args ...any) *abort { return &abort{r, fmt.Errorf(format, args...)} }
	switch {
	case s.version < s.newest:
		return refuse(older, "the list is of version %d, but version %d is stored: the cluster was restored; the ingester starts anew when it notices",
			s.version, s.newest)
	case s.lost > 0 && s.objects == 0 && s.rows > fewRows:
		return refuse(empty, "the cluster has no object left, storage has %d: ingester verify --repair --force closes them if that is right", s.rows)
	case s.lost > manyRows && 100*s.lost > manyPercent*s.rows:
		return refuse(threshold, "%d of %d rows would be closed, which is more than %d %%: ingester verify --repair --force closes them if that is right",
			s.lost, s.rows, manyPercent)
	}
	return nil
}
