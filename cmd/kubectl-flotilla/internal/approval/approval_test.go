package approval_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/approval"
)

func superset(mode, direction string, annotations map[string]string, change func(upgrade map[string]any)) *unstructured.Unstructured {
	upgrade := map[string]any{"fromVersion": "6.0.0", "toVersion": "6.1.0", "direction": direction, "approvalToken": "sha256:one"}
	if change != nil {
		change(upgrade)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"lifecycle": map[string]any{"upgradeMode": mode}},
		"status": map[string]any{"observedGeneration": int64(4), "phase": "P", "lifecycle": map[string]any{"upgrade": upgrade}},
	}}
	u.SetGeneration(4)
	u.SetAnnotations(annotations)
	return u
}

func TestDecide(t *testing.T) {
	none := func(u map[string]any) { clear(u) }
	for name, tc := range map[string]struct {
		u         *unstructured.Unstructured
		downgrade bool
		approved  bool
		at        string // annotation; empty: nothing to approve
		message   string
	}{
		"a pending upgrade":            {superset("Supervised", "Upgrade", nil, nil), false, false, approval.AnnotationUpgrade, ""},
		"a pending rebuild":            {superset("Supervised", "Rebuild", nil, nil), false, false, approval.AnnotationUpgrade, ""},
		"an unknown direction":         {superset("Supervised", "Unknown", nil, nil), false, false, approval.AnnotationUpgrade, ""},
		"an automatic upgrade":         {superset("Automatic", "Upgrade", nil, nil), false, false, "", "needs no approval"},
		"a downgrade with the flag":    {superset("Automatic", "Downgrade", nil, nil), true, false, approval.AnnotationDowngrade, ""},
		"a downgrade without the flag": {superset("Supervised", "Downgrade", nil, nil), false, false, "", "is a downgrade"},
		"an upgrade with the flag":     {superset("Supervised", "Upgrade", nil, nil), true, false, "", "omit --downgrade"},
		"no change":                    {superset("Supervised", "", nil, none), false, false, "", `the phase is "P"`},
		"an approved upgrade":          {superset("Supervised", "Upgrade", nil, func(u map[string]any) { u["approvedAt"] = "2026-03-01T12:00:00Z" }), false, true, approval.AnnotationUpgrade, ""},
		"an annotated upgrade":         {superset("Supervised", "Upgrade", map[string]string{approval.AnnotationUpgrade: "sha256:one"}, nil), false, true, approval.AnnotationUpgrade, ""},
		"the token of another change":  {superset("Supervised", "Upgrade", map[string]string{approval.AnnotationUpgrade: "sha256:two"}, nil), false, false, approval.AnnotationUpgrade, ""},
		"the token for a downgrade":    {superset("Supervised", "Upgrade", map[string]string{approval.AnnotationDowngrade: "sha256:one"}, nil), false, false, approval.AnnotationUpgrade, ""},
		"a stale status": {func() *unstructured.Unstructured {
			u := superset("Supervised", "Upgrade", nil, nil)
			u.SetGeneration(5)
			return u
		}(), false, false, "", "has observed generation 4"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := approval.Decide(tc.u, tc.downgrade)
			if (err != nil) != (tc.at == "") || err != nil && (!errors.Is(err, approval.ErrNoPendingChange) || !strings.Contains(err.Error(), tc.message)) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if err == nil && (got.Annotation != tc.at || got.Approved != tc.approved || got.Token != "sha256:one") {
				t.Errorf("got %+v", got)
			}
		})
	}
}
