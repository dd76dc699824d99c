package api_test

import (
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

func ExampleIsSet() {
	annotations := map[string]string{api.DeletingAnnotation: "true", api.ImmutableAnnotation: "yes"}
	fmt.Println(api.IsSet(annotations, api.DeletingAnnotation))
	fmt.Println(api.IsSet(annotations, api.ImmutableAnnotation))
	// Output:
	// true
	// false
}
