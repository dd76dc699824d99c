package stack_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/permissions"
)

// permissionsAreUsed checks that no request was denied, and that each permission was used or has a reason in unused_test.go.
func (s *suite) permissionsAreUsed(t *testing.T) {
	t.Helper()
	var result permissions.Result
	expect.Eventually(t, expect.Long, func() error {
		reports, err := s.PermissionReports(t.Context())
		if err != nil {
			return err
		}
		if len(reports) != len(services) {
			return fmt.Errorf("got permissions of %d services, want %v", len(reports), services)
		}
		result = permissions.Evaluate(reports, unused)
		if len(result.Wrong) > 0 {
			return nil // no later request changes this
		}
		if len(result.Unexplained) > 0 {
			return errors.New("permissions that were never used and are not explained in unused_test.go:\n" + strings.Join(result.Unexplained, "\n"))
		}
		return nil
	})
	for _, permission := range result.Unused {
		t.Logf("PERMISSION unused %s", permission)
	}
	for _, wrong := range result.Wrong {
		t.Error(wrong)
	}
}
