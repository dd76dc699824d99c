package rights

import (
	"fmt"
	"slices"
	"strings"
)

// Unused explains why a service has rights that the scenarios do not use.
type Unused struct {
	Service string
	Verbs   string // separated by spaces
	// On are resources with the limits of the right, as in "core/secrets in flotilla-system named a".
	On []string
	// Sometimes means that it depends on the timing whether a run uses them.
	Sometimes bool
	Reason    string
}

// Verdict is what is to be said about the rights.
type Verdict struct {
	// Unused has a line for each right that was never used, explained or not.
	Unused []string
	// Unsettled are unexplained rights that were not used yet.
	Unsettled []string
	// Wrong is a violation that no further request can repair.
	Wrong []string
}

// Judge compares the reports with the explanations.
func Judge(reports []Report, explained []Unused) Verdict {
	var v Verdict
	met := map[string]bool{}
	for _, report := range reports {
		for _, d := range report.Denied {
			v.Wrong = append(v.Wrong, fmt.Sprintf("%s was refused %s %s of %s/%s, %d times: %s",
				report.Service, d.Verb, target(d.Group, d.Resource), d.Namespace, d.Name, d.Times, d.Message))
		}
		for _, right := range report.Rights {
			v.judge(report.Service, right, explained, met)
		}
	}
	for _, e := range explained {
		for _, key := range e.lines() {
			if !met[key] {
				v.Wrong = append(v.Wrong, key+" is explained and not granted")
			}
		}
	}
	return v
}

func (v *Verdict) judge(service string, right Right, explained []Unused, met map[string]bool) {
	key := line(service, right.on(), right.Verb)
	met[key] = true
	i := slices.IndexFunc(explained, func(e Unused) bool {
		return slices.Contains(e.lines(), key)
	})
	switch {
	case right.Used == 0:
		v.Unused = append(v.Unused, key)
		if i < 0 {
			v.Unsettled = append(v.Unsettled, key)
		}
	case i >= 0 && !explained[i].Sometimes:
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s is explained as unused (%s) and was used %d times", key, explained[i].Reason, right.Used))
	}
}

// lines has one for each right.
func (u Unused) lines() []string {
	var all []string
	for _, on := range u.On {
		for verb := range strings.FieldsSeq(u.Verbs) {
			all = append(all, line(u.Service, on, verb))
		}
	}
	return all
}

func line(service, on, verb string) string {
	resource, scope, _ := strings.Cut(on, " ")
	return strings.TrimSpace(strings.Join([]string{service, resource, verb, scope}, " "))
}
