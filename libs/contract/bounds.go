package contract

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of the texts in a payload, so that it fits in [MaxMessageBytes].
const (
	MaxTextBytes = 1024 // a message or a reason
	MaxExamples  = 3    // names of pods in a [Failure]
)

// Bounded returns a copy whose texts are valid UTF-8 and no longer than
// [MaxTextBytes], with at most [MaxExamples] examples of each failure. Encode does
// not truncate texts.
func (o Observation) Bounded() Observation {
	o.Reconcile.Reason = Text(o.Reconcile.Reason)
	o.Reconcile.Message = Text(o.Reconcile.Message)
	o.Units = slices.Clone(o.Units)
	for i := range o.Units {
		failures := slices.Clone(o.Units[i].Failures)
		for j := range failures {
			f := &failures[j]
			f.Message = Text(f.Message)
			f.Examples = f.Examples[:min(len(f.Examples), MaxExamples)]
		}
		o.Units[i].Failures = failures
	}
	o.Jobs = slices.Clone(o.Jobs)
	for i := range o.Jobs {
		o.Jobs[i].Message = Text(o.Jobs[i].Message)
	}
	o.Dependencies = slices.Clone(o.Dependencies)
	for i := range o.Dependencies {
		o.Dependencies[i].Message = Text(o.Dependencies[i].Message)
	}
	o.UpgradeBlockers = slices.Clone(o.UpgradeBlockers)
	for i := range o.UpgradeBlockers {
		o.UpgradeBlockers[i] = Text(o.UpgradeBlockers[i])
	}
	return o
}

// Text returns s as valid UTF-8 of at most [MaxTextBytes]; see [Truncate].
func Text(s string) string { return Truncate(s, MaxTextBytes) }

// Truncate returns s as valid UTF-8 of at most limit bytes, cut between two characters
// and marked with an ellipsis where it was longer.
func Truncate(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	const ellipsis = "..."
	end := limit - len(ellipsis)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}
