// Package rights judges what the services of the stack did with the rights that their charts grant.
package rights

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Report is what `stack rights --json` says of one service.
type Report struct {
	Service string
	Rights  []Right
	Denied  []Denial
}

// Right is a verb on a resource, and how often the service used it.
type Right struct {
	Namespace string // empty: all
	Group     string
	Resource  string
	Names     []string // empty: all
	Verb      string
	Used      int
}

// Denial is a request of the service that the API server refused.
type Denial struct {
	Verb, Group, Resource, Namespace, Name, Message string
	Times                                           int
}

// Parse reads the reports of all services.
func Parse(text []byte) ([]Report, error) {
	var reports []Report
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("parse the rights of the services: %w", err)
	}
	return reports, nil
}

// on is the resource as `stack rights` shows it, and the limits of the right: "core/secrets in flotilla-system named a".
func (r Right) on() string {
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
