package purge

// WithEvents is the query of the rows whose events wait.
var WithEvents = withEvents
