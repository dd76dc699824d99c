package conditions_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mutants"
)

// The list of mutants matches the source.
func TestMutantsMatchSource(t *testing.T) { listed(t) }

func listed(t *testing.T) []mutants.Mutant {
	t.Helper()
	const least = 12
	return mutants.Read(t, "testdata/mutants.txt", least)
}
