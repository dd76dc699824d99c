package ownedstatus_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
)

func TestApplyAdoptsStatusOfEarlierRelease(t *testing.T) {
	tests := map[string]struct {
		manager string
		write   func(f fixture, s *apitest.Ship) error
	}{
		"that wrote with Update under the same name": {
			manager: operator,
			write: func(f fixture, s *apitest.Ship) error {
				return f.c.Status().Update(f.Context(), s, client.FieldOwner(operator))
			},
		},
		"that wrote with Update under a former name": {
			manager: "manager",
			write: func(f fixture, s *apitest.Ship) error {
				return f.c.Status().Update(f.Context(), s, client.FieldOwner("manager"))
			},
		},
		"that applied under a former name": {
			manager: "manager",
			write: func(f fixture, s *apitest.Ship) error {
				_, err := f.writer("manager").Apply(f.Context(), f.read(), s.Status)
				return err
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			s := f.read()
			s.Status = apitest.ShipStatus{Phase: "Old", Conditions: conditions{condition("Ready", "False"), condition("Obsolete", "True")}}
			if err := tc.write(f, s); err != nil {
				t.Fatal(err)
			}
			w := f.writer(operator)
			f.apply(w, true, apitest.ShipStatus{Phase: "New", Conditions: conditions{condition("Ready", "True")}})
			f.wantConditions(condition("Ready", "True"))
			for _, entry := range f.read().ManagedFields {
				if entry.Subresource == "status" && (entry.Manager != operator || entry.Operation != metav1.ManagedFieldsOperationApply) {
					t.Errorf("%s still owns status fields by %s", entry.Manager, entry.Operation)
				}
			}
			f.apply(w, false, apitest.ShipStatus{Phase: "New", Conditions: conditions{condition("Ready", "True")}})
		})
	}
}

func TestApplyAdoptsEqualStatusWithoutChange(t *testing.T) {
	f := setUp(t)
	s := f.read()
	s.Status = apitest.ShipStatus{Phase: "Running", Conditions: conditions{condition("Ready", "True")}}
	if err := f.c.Status().Update(t.Context(), s, client.FieldOwner(operator)); err != nil {
		t.Fatal(err)
	}
	before := f.read()
	if n := f.c.Requests(func() {
		if _, err := f.writer(operator).Apply(t.Context(), before.DeepCopyObject().(*apitest.Ship), before.Status); err != nil {
			t.Fatal(err)
		}
	}); n != 1 {
		t.Errorf("it cost %d requests, want 1", n)
	}
	if diff := cmp.Diff(before.Status, f.read().Status); diff != "" {
		t.Errorf("status (-before +after):\n%s", diff)
	}
	f.apply(f.writer(operator), false, before.Status)
}

func TestApplySharesManagerNameWithoutConflict(t *testing.T) {
	f := setUp(t)
	alone, back := f.writer(aggregator), f.writer(aggregator)
	f.apply(alone, true, map[string]any{"conditions": conditions{condition("Available", "False"), condition("Degraded", "True")}})
	f.apply(back, true, map[string]any{"conditions": conditions{condition("Available", "True")}})
	f.wantConditions(condition("Available", "True"))
}
