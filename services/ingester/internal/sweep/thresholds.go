package sweep

import "fmt"

// reason is the reason for which a sweep closed no row. It is a label of a metric.
type reason string

// Reasons of an abort.
const (
	otherCluster reason = "cluster"   // the cluster cannot be read, or storage belongs to another one
	behind       reason = "behind"    // the database was restored from an older backup
	unreadable   reason = "rows"      // MySQL is unavailable
	unserved     reason = "unserved"  // the cluster does not serve the kind
	unlisted     reason = "list"      // the list failed, perhaps halfway
	older        reason = "older"     // the list is older than a stored version
	empty        reason = "empty"     // the cluster has no object of the kind
	threshold    reason = "threshold" // too many rows would be closed
	unconfirmed  reason = "object"    // the get of an object failed
	unclosed     reason = "close"     // the rows could not be closed
)

// abortError is an error with a reason.
type abortError struct {
	reason reason
	err    error
}

func (a *abortError) Error() string { return a.err.Error() }
func (a *abortError) Unwrap() error { return a.err }

// needsInvestigation reports whether a person should investigate: the list succeeded, but its content is not plausible.
func (a *abortError) needsInvestigation() bool {
	return a.reason == older || a.reason == empty || a.reason == threshold
}

// scanResult is the result of comparing the rows and objects of one kind.
type scanResult struct {
	// rows counts the rows that are expected in the cluster, missing those of them that the list lacks.
	rows, missing int
	// newest is the highest version among rows of the cluster's incarnation.
	newest int64
	// objects is the length of the list, version its resource version.
	objects int
	version int64
}

// Limits of a plausible sweep.
const (
	// A sweep that would close more than manyRows and more than ManyPercent closes none.
	manyRows    = 100
	ManyPercent = 20
	// fewRows of a kind may all be orphans.
	fewRows = 10
)

// TooMany reports whether a kind has so many rows to close that the wrong cluster, or the wrong namespaces, are probably compared.
func TooMany(closing, live int) bool { return closing > manyRows && 100*closing > ManyPercent*live }

// checkThresholds returns an error if no row may be closed; nil means that the missing rows may
// be checked one by one. It is pure.
func checkThresholds(s scanResult) *abortError {
	abort := func(r reason, format string, args ...any) *abortError {
		return &abortError{r, fmt.Errorf(format, args...)}
	}
	switch {
	case s.version < s.newest:
		return abort(older, "the list has version %d but version %d is stored: the cluster was restored; the ingester restarts when it detects this",
			s.version, s.newest)
	case s.missing > 0 && s.objects == 0 && s.rows > fewRows:
		return abort(empty, "the cluster has no objects but %d rows are live: to close them, run ingester verify --repair --force", s.rows)
	case TooMany(s.missing, s.rows):
		return abort(threshold, "%d of %d rows would be closed, more than %d %%: to close them, run ingester verify --repair --force",
			s.missing, s.rows, ManyPercent)
	}
	return nil
}
