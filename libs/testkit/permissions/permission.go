package permissions

import (
	"cmp"
	"slices"
	"strings"
)

// Permission is one verb on one resource, from a rule of a role.
type Permission struct {
	Namespace string `json:"namespace,omitempty"` // empty: all namespaces
	Group     string `json:"group"`
	// Resource is a resource with its subresource, such as pods/proxy, or a non-resource path, such as /metrics.
	Resource string   `json:"resource"`
	Names    []string `json:"names,omitempty"` // sorted; empty: all names
	Verb     string   `json:"verb"`
}

// Target returns "<group>/<resource>", with core for the empty group, or the path.
func (r Permission) Target() string { return target(r.Group, r.Resource) }

// Scope describes the namespace and the names that limit the permission. It is empty if there is no limit.
func (r Permission) Scope() string {
	var limits []string
	if r.Namespace != "" {
		limits = append(limits, "in "+r.Namespace)
	}
	if len(r.Names) > 0 {
		limits = append(limits, "named "+strings.Join(r.Names, ","))
	}
	return strings.Join(limits, " ")
}

// on returns target and scope, such as "core/secrets in flotilla-system named a".
func (r Permission) on() string { return strings.TrimSpace(r.Target() + " " + r.Scope()) }

// limits ranks how narrow the permission is: names are narrower than a namespace.
func (r Permission) limits() int {
	n := 0
	if r.Namespace != "" {
		n++
	}
	if len(r.Names) > 0 {
		n += 2
	}
	return n
}

// permits reports whether the permission alone allows a request.
func (r Permission) permits(q Request) bool {
	if r.Verb != q.Verb && r.Verb != all || isPath(r.Resource) != isPath(q.Resource) {
		return false
	}
	if isPath(q.Resource) {
		prefix, open := strings.CutSuffix(r.Resource, all)
		return r.Resource == q.Resource || open && strings.HasPrefix(q.Resource, prefix)
	}
	return (r.Group == q.Group || r.Group == all) &&
		(r.Namespace == "" || r.Namespace == q.Namespace) &&
		coversResource(r.Resource, q.Resource) &&
		(len(r.Names) == 0 || slices.Contains(r.Names, q.Name))
}

const all = "*"

// coversResource reports whether a resource of a rule covers a resource. It supports "*" (all resources and subresources)
// and "*/scale".
func coversResource(rule, resource string) bool {
	if rule == all || rule == resource {
		return true
	}
	_, subresource, found := strings.Cut(resource, "/")
	return found && rule == all+"/"+subresource
}

func target(group, resource string) string {
	if isPath(resource) {
		return resource
	}
	if group == "" {
		group = "core"
	}
	return group + "/" + resource
}

func isPath(resource string) bool { return strings.HasPrefix(resource, "/") }

func comparePermissions(a, b Permission) int {
	return cmp.Or(
		strings.Compare(a.Group, b.Group),
		strings.Compare(a.Resource, b.Resource),
		strings.Compare(a.Scope(), b.Scope()),
		strings.Compare(a.Verb, b.Verb))
}
