package storage_test

import (
	"errors"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Callers branch on the errors of the package with errors.Is, also if they are wrapped.
func ExampleErrNotFound() {
	err := fmt.Errorf("Model default/churn: %w", storage.ErrNotFound)
	if errors.Is(err, storage.ErrNotFound) {
		fmt.Println("read from the cluster, or respond with 404")
	}
	// Output: read from the cluster, or respond with 404
}
