package permissions

import (
	"cmp"
	"slices"
	"strings"
)

// Use is the use count of a permission.
type Use struct {
	Permission
	Used int `json:"used"`
}

// Denial is a denied request and its count.
type Denial struct {
	Request
	Message string `json:"message"`
	Times   int    `json:"times"`
}

// Report describes how an account used its permissions.
type Report struct {
	Permissions []Use    `json:"permissions"`
	Denied      []Denial `json:"denied"`
}

// ServiceReport is an item of the output of `stack permissions --json`.
type ServiceReport struct {
	Service string `json:"service"`
	Report
}

// Ledger counts the requests of one account against its permissions.
type Ledger struct {
	uses    []Use
	denied  map[Denial]int
	started map[string]bool // events whose request was counted when its response started
}

// NewLedger returns a ledger with a count of 0 for each permission.
func NewLedger(granted []Permission) *Ledger {
	l := &Ledger{denied: map[Denial]int{}, started: map[string]bool{}}
	for _, permission := range granted {
		l.uses = append(l.uses, Use{Permission: permission})
	}
	return l
}

// Add counts a request of the account. A watch has two events, at its start and at its end; Add counts the first.
func (l *Ledger) Add(e Event) {
	if l.started[e.ID] {
		delete(l.started, e.ID)
		return
	}
	if e.Started {
		l.started[e.ID] = true
	}
	if e.Denied {
		l.denied[Denial{Request: e.Request, Message: e.Message}]++
		return
	}
	for _, q := range authorizationChecks(e) {
		l.use(q)
	}
}

// use counts a request for the narrowest permission that allows it, or for all equally narrow ones. A wider permission is
// not required for it.
func (l *Ledger) use(q Request) {
	narrowest := 0
	for _, use := range l.uses {
		if use.permits(q) {
			narrowest = max(narrowest, use.limits())
		}
	}
	for i := range l.uses {
		if l.uses[i].permits(q) && l.uses[i].limits() == narrowest {
			l.uses[i].Used++
		}
	}
}

// authorizationChecks lists the checks of the API server for a request. The event of a create has the name of the object,
// which the authorizer did not get. A patch or an update that created its object also required the permission to create
// it, by its name.
func authorizationChecks(e Event) []Request {
	q := e.Request
	switch {
	case q.Verb == "create" && !strings.Contains(q.Resource, "/"):
		q.Name = ""
	case e.Created && (q.Verb == "patch" || q.Verb == "update"):
		create := q
		create.Verb = "create"
		return []Request{q, create}
	}
	return []Request{q}
}

// Report lists the permissions in the order of NewLedger, and the denials by request.
func (l *Ledger) Report() Report {
	r := Report{Permissions: slices.Clone(l.uses), Denied: []Denial{}}
	for denial, times := range l.denied {
		denial.Times = times
		r.Denied = append(r.Denied, denial)
	}
	slices.SortFunc(r.Denied, func(a, b Denial) int {
		return cmp.Or(
			strings.Compare(a.Group, b.Group),
			strings.Compare(a.Resource, b.Resource),
			strings.Compare(a.Verb, b.Verb),
			strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.Message, b.Message))
	})
	return r
}
