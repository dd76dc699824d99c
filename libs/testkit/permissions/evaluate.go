package permissions

import (
	"fmt"
	"slices"
	"strings"
)

// Unused explains why a service has permissions that the scenarios do not use.
type Unused struct {
	Service string
	Verbs   string // separated by spaces
	// On lists resources with the scope of the permission, such as "core/secrets in flotilla-system named a".
	On []string
	// Sometimes means that a run uses them or not, depending on timing.
	Sometimes bool
	Reason    string
}

// Result is the result of [Evaluate].
type Result struct {
	// Unused lists the permissions that were never used, with or without an explanation.
	Unused []string
	// Unexplained lists the permissions that were not used yet and have no explanation.
	Unexplained []string
	// Wrong lists the violations that later requests cannot resolve.
	Wrong []string
}

// Evaluate compares the used permissions of the reports with the explanations.
func Evaluate(reports []ServiceReport, explained []Unused) Result {
	var v Result
	matched := map[string]bool{}
	for _, report := range reports {
		for _, d := range report.Denied {
			v.Wrong = append(v.Wrong, fmt.Sprintf("%s was denied %s %s of %s/%s, %d times: %s",
				report.Service, d.Verb, target(d.Group, d.Resource), d.Namespace, d.Name, d.Times, d.Message))
		}
		for _, permission := range report.Permissions {
			v.evaluate(report.Service, permission, explained, matched)
		}
	}
	for _, e := range explained {
		for _, line := range e.lines() {
			if !matched[line] {
				v.Wrong = append(v.Wrong, line+" is explained and not granted")
			}
		}
	}
	return v
}

func (v *Result) evaluate(service string, permission Use, explained []Unused, matched map[string]bool) {
	granted := key(service, permission.on(), permission.Verb)
	matched[granted] = true
	i := slices.IndexFunc(explained, func(e Unused) bool {
		return slices.Contains(e.lines(), granted)
	})
	switch {
	case permission.Used == 0:
		v.Unused = append(v.Unused, granted)
		if i < 0 {
			v.Unexplained = append(v.Unexplained, granted)
		}
	case i >= 0 && !explained[i].Sometimes:
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s is explained as unused (%s) and was used %d times", granted, explained[i].Reason, permission.Used))
	}
}

// lines returns one line for each permission.
func (u Unused) lines() []string {
	var lines []string
	for _, on := range u.On {
		for verb := range strings.FieldsSeq(u.Verbs) {
			lines = append(lines, key(u.Service, on, verb))
		}
	}
	return lines
}

func key(service, on, verb string) string {
	resource, scope, _ := strings.Cut(on, " ")
	return strings.TrimSpace(strings.Join([]string{service, resource, verb, scope}, " "))
}
