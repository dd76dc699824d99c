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

// Event holds the fields of an audit.k8s.io/v1 Event that the tests use.
type Event struct {
	AuditID    string
	Stage      string
	Verb       string
	RequestURI string
	User       struct{ Username string }
	// ObjectRef is nil for a non-resource request.
	ObjectRef *struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	// ResponseStatus is absent when the connection broke before the response.
	ResponseStatus struct {
		Code    int
		Message string
	}
	Annotations map[string]string
}

// Events reads a log with one JSON event per line. It skips an unterminated last line: the server is still writing it.
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
