package objectsync

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestWatchErrorsAreLoggedOncePerFailure removes the CRD again after the kind was watched.
func TestWatchErrorsAreLoggedOncePerFailure(t *testing.T) {
	var lines []string
	failures := &watchErrors{log: funcr.New(func(_, line string) {
		message, _, _ := strings.Cut(strings.TrimPrefix(line, `"level"=0 "msg"="`), `"`)
		lines = append(lines, message)
	}, funcr.Options{})}
	models := schema.GroupResource{Resource: "models"}
	missing, forbidden := apierrors.NewNotFound(models, ""), apierrors.NewForbidden(models, "", errors.New("no role"))
	for range 2 {
		for _, err := range []error{missing, missing, forbidden} {
			failures.handle(t.Context(), nil, err)
		}
		failures.handle(t.Context(), nil, missing)
		failures.recovered()
	}
	const waiting, started = "Waiting to watch the kind", "Started to watch the kind"
	want := []string{waiting, waiting, waiting, started, waiting, waiting, waiting, started}
	if !slices.Equal(lines, want) {
		t.Errorf("log lines %q, want %q", lines, want)
	}
}
