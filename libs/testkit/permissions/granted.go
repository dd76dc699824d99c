package permissions

import (
	"encoding/json"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/audit"
)

// Account is a service account.
type Account struct{ Namespace, Name string }

// User returns the user name of the account.
func (a Account) User() string { return audit.ServiceAccount(a.Namespace, a.Name) }

// Policy holds all roles and bindings of a cluster.
type Policy struct {
	roles    map[roleKey][]rbacv1.PolicyRule
	bindings []binding
}

// roleKey identifies a Role or, with an empty namespace, a ClusterRole.
type roleKey struct{ namespace, name string }

type binding struct {
	namespace string // empty for a ClusterRoleBinding
	role      rbacv1.RoleRef
	subjects  []rbacv1.Subject
}

// object is a role or a binding of either kind.
type object struct {
	Kind     string
	Metadata struct{ Namespace, Name string }
	Rules    []rbacv1.PolicyRule
	RoleRef  rbacv1.RoleRef
	Subjects []rbacv1.Subject
}

// ParsePolicy parses a JSON List of roles and bindings. It ignores other kinds.
func ParsePolicy(list []byte) (Policy, error) {
	var objects struct{ Items []object }
	if err := json.Unmarshal(list, &objects); err != nil {
		return Policy{}, fmt.Errorf("parse the roles and their bindings: %w", err)
	}
	p := Policy{roles: map[roleKey][]rbacv1.PolicyRule{}}
	for _, o := range objects.Items {
		switch o.Kind {
		case "Role", "ClusterRole":
			p.roles[roleKey{o.Metadata.Namespace, o.Metadata.Name}] = o.Rules
		case "RoleBinding", "ClusterRoleBinding":
			p.bindings = append(p.bindings, binding{o.Metadata.Namespace, o.RoleRef, o.Subjects})
		}
	}
	return p, nil
}

// Granted lists the permissions that are bound to the account itself, each once. It omits those of groups of all
// accounts, such as discovery. A binding to a role that does not exist grants nothing.
func (p Policy) Granted(account Account) []Permission {
	var granted []Permission
	for _, b := range p.bindings {
		if !b.binds(account) {
			continue
		}
		key := roleKey{name: b.role.Name}
		if b.role.Kind == "Role" {
			key.namespace = b.namespace
		}
		for _, rule := range p.roles[key] {
			granted = append(granted, expand(b.namespace, rule)...)
		}
	}
	slices.SortFunc(granted, comparePermissions)
	return slices.CompactFunc(granted, func(a, b Permission) bool { return comparePermissions(a, b) == 0 })
}

func (b binding) binds(account Account) bool {
	return slices.ContainsFunc(b.subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == account.Namespace && s.Name == account.Name
	})
}

// expand lists the permissions of a rule that is bound in a namespace. A RoleBinding does not grant non-resource URLs:
// RBAC grants them cluster-wide only.
func expand(namespace string, rule rbacv1.PolicyRule) []Permission {
	var permissions []Permission
	names := slices.Sorted(slices.Values(rule.ResourceNames))
	for _, verb := range rule.Verbs {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				permissions = append(permissions, Permission{namespace, group, resource, names, verb})
			}
		}
		if namespace != "" {
			continue
		}
		for _, url := range rule.NonResourceURLs {
			permissions = append(permissions, Permission{Resource: url, Verb: verb})
		}
	}
	return permissions
}
