// Package permissions compares the permissions that the charts grant to the services of the stack with those that they used.
package permissions

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Report is the output of `stack permissions --json` for one service.
type Report struct {
	Service     string
	Permissions []Permission `json:"permissions"`
	Denied      []Denial
}

// Permission is a permission: a verb on a resource, and the number of requests that used it.
type Permission struct {
	Namespace string // empty: all
	Group     string
	Resource  string
	Names     []string // empty: all
	Verb      string
	Used      int
}

// Denial is a request of the service that the API server denied.
type Denial struct {
	Verb, Group, Resource, Namespace, Name, Message string
	Times                                           int
}

// Parse parses the reports of all services.
func Parse(text []byte) ([]Report, error) {
	var reports []Report
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("parse the permissions of the services: %w", err)
	}
	return reports, nil
}

// on returns the resource and the scope in the notation of `stack permissions`: "core/secrets in flotilla-system named a".
func (r Permission) on() string {
	text := target(r.Group, r.Resource)
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	if len(r.Names) > 0 {
		text += " named " + strings.Join(r.Names, ",")
	}
	return text
}

func target(group, resource string) string {
	switch {
	case strings.HasPrefix(resource, "/"): // a path
		return resource
	case group == "":
		return "core/" + resource
	}
	return group + "/" + resource
}
