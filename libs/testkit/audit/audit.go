// Package audit reads the audit log of an API server.
package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Event is the part of audit.k8s.io/v1 Event that matters here.
type Event struct {
	AuditID    string
	Stage      string
	Verb       string
	RequestURI string
	User       struct{ Username string }
	// ObjectRef is nil when the request was for no resource.
	ObjectRef *struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	// ResponseStatus is absent when the connection broke before an answer.
	ResponseStatus struct {
		Code    int
		Message string
	}
	Annotations map[string]string
}

// Events reads a log, one JSON event a line. A last line without an end is still being written and is left out.
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
			var e Event
			if len(line) > 1 {
				if err := json.Unmarshal(line, &e); err != nil {
					yield(Event{}, fmt.Errorf("parse an audit event: %w", err))
					return
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// ServiceAccount returns the user name of a service account.
func ServiceAccount(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}
