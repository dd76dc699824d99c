package rights

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// Request is what was asked of the API server.
type Request struct {
	Verb  string `json:"verb"`
	Group string `json:"group"`
	// Resource with its subresource, or the path when the request was for no resource.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String says what was asked, and of which object.
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

// Event is an audit event of a request that was answered.
type Event struct {
	ID      string
	User    string
	Request Request
	Started bool // the answer has begun; another event says when it was complete
	Denied  bool
	Created bool // the request made its object
	Message string
}

// logged is the part of audit.k8s.io/v1 Event that matters here.
type logged struct {
	AuditID    string
	Stage      string
	Verb       string
	RequestURI string
	User       struct{ Username string }
	ObjectRef  *struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	// ResponseStatus is absent when the connection broke before an answer.
	ResponseStatus struct {
		Code    int
		Message string
	}
	Annotations map[string]string
}

// Events reads an audit log, one JSON event a line. A last line without an end is still being written and is left out.
func Events(log io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		reader := bufio.NewReader(log)
		for {
			line, err := reader.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("read the audit log: %w", err))
				return
			}
			event, err := parse(line)
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

func parse(line []byte) (Event, error) {
	var l logged
	if err := json.Unmarshal(line, &l); err != nil {
		return Event{}, fmt.Errorf("parse an audit event: %w", err)
	}
	code := l.ResponseStatus.Code
	return Event{
		ID:      l.AuditID,
		User:    l.User.Username,
		Request: l.request(),
		Started: l.Stage == "ResponseStarted",
		Denied:  code == http.StatusForbidden || l.Annotations["authorization.k8s.io/decision"] == "forbid",
		Created: code == http.StatusCreated,
		Message: l.ResponseStatus.Message,
	}, nil
}

func (l logged) request() Request {
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
