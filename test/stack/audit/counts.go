package audit

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/audit"
)

// Counts are the requests of one user in a period, without watches and requests for Leases.
type Counts struct {
	Requests  int
	Writes    int            // of Requests: everything but get and list
	Conflicts int            // of Writes: answered with 409 Conflict
	Kinds     map[string]int // Requests by verb and resource, such as "patch supersets/status"
}

// Count counts the requests of a user in a part of an audit log with complete lines.
func Count(log []byte, user string) (Counts, error) {
	counts := Counts{Kinds: map[string]int{}}
	for e, err := range audit.Events(bytes.NewReader(log)) {
		if err != nil {
			return Counts{}, err
		}
		if e.User.Username == user {
			counts.add(e)
		}
	}
	return counts, nil
}

func (c *Counts) add(e audit.Event) {
	if e.Verb == "watch" || (e.ObjectRef != nil && e.ObjectRef.Resource == "leases") {
		return
	}
	c.Requests++
	c.Kinds[kindOf(e)]++
	if e.Verb == "get" || e.Verb == "list" {
		return
	}
	c.Writes++
	if e.ResponseStatus.Code == http.StatusConflict {
		c.Conflicts++
	}
}

// kindOf returns the kind of a request: the verb and the resource, or the path of a non-resource request, and the
// field manager unless it has the name of the user.
func kindOf(e audit.Event) string {
	path, query, _ := strings.Cut(e.RequestURI, "?")
	if e.ObjectRef == nil || e.ObjectRef.Resource == "" {
		return e.Verb + " " + path
	}
	kind := e.Verb + " " + e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		kind += "/" + e.ObjectRef.Subresource
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return kind
	}
	if manager := values.Get("fieldManager"); manager != "" && !strings.HasSuffix(e.User.Username, ":"+manager) {
		kind += " as " + manager
	}
	return kind
}

// String lists the kinds, the most frequent first.
func (c Counts) String() string {
	kinds := make([]string, 0, len(c.Kinds))
	for kind := range c.Kinds {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if c.Kinds[a] != c.Kinds[b] {
			return c.Kinds[b] - c.Kinds[a]
		}
		return strings.Compare(a, b)
	})
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s %d", kind, c.Kinds[kind])
	}
	return strings.Join(kinds, ", ")
}
