package validation

import (
	"fmt"
	"math"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// roomy is the longest name with which the numbers of generations never run out.
const roomy = 43

// LongName warns of a name that leaves no room for many generations: the label
// controller-revision-hash of the pods holds name, number and a hash of ten characters.
// The schema rejects names that leave none. It is empty for other names.
func LongName(engine string) string {
	const label, hash = 63, len("-") + 10
	if len(engine) <= roomy {
		return ""
	}
	digits := label - hash - len(names.Generation(engine, 0)) + 1
	return fmt.Sprintf("metadata.name has %d characters: from generation %.0f on Kubernetes makes no pods, since their labels are too long; at most %d are recommended",
		len(engine), math.Pow10(digits), roomy)
}
