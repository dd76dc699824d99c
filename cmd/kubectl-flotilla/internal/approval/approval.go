// Package approval decides whether an image change of a Superset can be approved, and returns the patch.
//
// The operator assigns each change a token in status.lifecycle.upgrade and continues once an annotation contains that
// token. A token belongs to one change, so an approval never applies to another one. The package does no I/O;
// [Decide] is the entry point.
package approval

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Annotations of approvals.
const (
	AnnotationUpgrade   = "superset.apache.org/approve-upgrade"
	AnnotationDowngrade = "superset.apache.org/approve-downgrade"
)

// ErrNoPendingChange reports that no change waits for approval.
var ErrNoPendingChange = errors.New("nothing to approve")

// Change is an image change that waits for approval.
type Change struct {
	From, To, Direction string
	Token               string
	// Annotation is the annotation for the token.
	Annotation string
	// Approved is true when the token is already set, or the change was approved before.
	Approved bool
}

// Warning returns the consequences of the approval.
func (c Change) Warning() string {
	if c.Annotation == AnnotationDowngrade {
		return "An older Superset cannot read a newer metastore: restore a backup of the metastore from before the upgrade first."
	}
	return "The migration of the metastore cannot be reverted: make a backup first."
}

// Patch returns the JSON merge patch that approves the change. The patch fails if the object has changed since it was read.
func (c Change) Patch() map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{c.Annotation: c.Token}}}
}

// Decide returns the pending change of a Superset. downgrade selects the return to an older version.
func Decide(u *unstructured.Unstructured, downgrade bool) (Change, error) {
	read := func(path ...string) string {
		s, _, err := unstructured.NestedString(u.Object, path...)
		if err != nil {
			return ""
		}
		return s
	}
	upgrade := func(field string) string { return read("status", "lifecycle", "upgrade", field) }
	c := Change{
		From: upgrade("fromVersion"), To: upgrade("toVersion"), Direction: upgrade("direction"),
		Token: upgrade("approvalToken"), Annotation: AnnotationUpgrade,
	}
	observed, _, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if err != nil {
		return Change{}, fmt.Errorf("read status.observedGeneration: %w", err)
	}
	older := c.Direction == "Downgrade"
	if older {
		c.Annotation = AnnotationDowngrade
	}
	c.Approved = upgrade("approvedAt") != "" || c.Token != "" && u.GetAnnotations()[c.Annotation] == c.Token
	switch {
	case observed < u.GetGeneration():
		return Change{}, fmt.Errorf("%w yet: the operator has observed generation %d of the spec, want %d: try again in a moment",
			ErrNoPendingChange, observed, u.GetGeneration())
	case c.Token == "":
		return Change{}, fmt.Errorf("%w: no image change is pending (the phase is %q)", ErrNoPendingChange, read("status", "phase"))
	case older && !downgrade:
		return Change{}, fmt.Errorf("%w as an upgrade: %s to %s is a downgrade. %s Then use --downgrade", ErrNoPendingChange, c.From, c.To, c.Warning())
	case !older && downgrade:
		return Change{}, fmt.Errorf("%w as a downgrade: %s to %s is of direction %s: omit --downgrade", ErrNoPendingChange, c.From, c.To, c.Direction)
	case !older && !c.Approved && read("spec", "lifecycle", "upgradeMode") != "Supervised":
		return Change{}, fmt.Errorf("%w: the change from %s to %s needs no approval, since spec.lifecycle.upgradeMode is not Supervised",
			ErrNoPendingChange, c.From, c.To)
	}
	return c, nil
}
