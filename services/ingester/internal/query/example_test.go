package query_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func ExampleCompile() {
	kinds, err := registry.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	project, _ := kinds.Lookup("Project")
	plan, err := query.Compile(query.Request{Kind: project, Options: &metav1.ListOptions{FieldSelector: "spec.tier=1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	matching := plan.Matching([]string{"uid-1"})
	fmt.Println(matching.SQL)
	fmt.Println(matching.Args...)
	// Output:
	// SELECT t.uid FROM `project` t FORCE INDEX (PRIMARY) WHERE t.uid IN (?) AND t.delete_time IS NULL AND (t.`tier` IS NOT NULL AND t.`tier` = ?)
	// uid-1 1
}
