package registry_test

import (
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func ExampleLoad() {
	r, err := registry.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	project, _ := r.Lookup("Project")
	for _, c := range project.Columns {
		fmt.Println(project.Table, c.Name, c.SQLType, c.ProtoPath)
	}
	// Output: project tier INT spec.tier
}
