package uidtracker_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/uidtracker"
)

func TestEachDeletedObjectIsReportedOnce(t *testing.T) {
	var deleted []string
	tracker := uidtracker.New(func(o contract.Object) { deleted = append(deleted, o.Name+" "+o.UID+" "+o.ResourceVersion) })
	record := func(name, uid, version string) {
		tracker.Record(contract.Object{Namespace: "n", Name: name, UID: uid, ResourceVersion: version})
	}
	record("a", "1", "10")
	record("b", "2", "20")
	record("a", "1", "11") // a change
	record("a", "3", "30") // another object of the name
	for range 2 {
		tracker.Remove(types.NamespacedName{Namespace: "n", Name: "a"})
		tracker.Remove(types.NamespacedName{Namespace: "n", Name: "unknown"})
	}
	record("a", "4", "40")
	if diff := cmp.Diff([]string{"a 1 11", "a 3 30"}, deleted); diff != "" {
		t.Errorf("deleted objects (-want +got):\n%s", diff)
	}
}
