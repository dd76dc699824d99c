package permissions

import (
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/audit"
)

// Request is a request to the API server.
type Request struct {
	Verb  string `json:"verb"`
	Group string `json:"group"`
	// Resource is the resource with its subresource, or the path of a non-resource request.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String returns the verb and the object of the request.
func (q Request) String() string {
	text := q.Verb + " " + target(q.Group, q.Resource)
	if q.Name != "" {
		return text + " " + strings.TrimPrefix(q.Namespace+"/"+q.Name, "/")
	}
	if q.Namespace != "" {
		return text + " in " + q.Namespace
	}
	return text
}

// Event is an audit event of an answered request.
type Event struct {
	ID      string
	User    string
	Request Request
	Started bool // the response has started; another event reports its end
	Denied  bool
	Created bool // the request created its object
	Message string
}

// Events reads an audit log.
func Events(log io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for l, err := range audit.Events(log) {
			code := l.ResponseStatus.Code
			event := Event{
				ID:      l.AuditID,
				User:    l.User.Username,
				Request: request(l),
				Started: l.Stage == "ResponseStarted",
				Denied:  code == http.StatusForbidden || l.Annotations["authorization.k8s.io/decision"] == "forbid",
				Created: code == http.StatusCreated,
				Message: l.ResponseStatus.Message,
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

func request(l audit.Event) Request {
	if l.ObjectRef == nil || l.ObjectRef.Resource == "" {
		path, _, _ := strings.Cut(l.RequestURI, "?")
		return Request{Verb: l.Verb, Resource: path}
	}
	ref := l.ObjectRef
	q := Request{Verb: l.Verb, Group: ref.APIGroup, Resource: ref.Resource, Namespace: ref.Namespace, Name: ref.Name}
	if ref.Subresource != "" {
		q.Resource += "/" + ref.Subresource
	}
	return q
}
