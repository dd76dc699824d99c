package validation

import (
	"fmt"
	"math"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// recommendedLength is the maximum length of a name that leaves room for generation numbers of seven digits.
const recommendedLength = 43

// LongName warns of a name that leaves room for few generations: the label
// controller-revision-hash of the pods holds name, number and a hash of ten characters.
// The schema rejects names without room for any. It returns an empty string for other names.
func LongName(engine string) string {
	const label, hash = 63, len("-") + 10
	if len(engine) <= recommendedLength {
		return ""
	}
	digits := label - hash - len(names.Generation(engine, 0)) + 1
	return fmt.Sprintf("metadata.name has %d characters: from generation %.0f on Kubernetes creates no pods, since their labels are too long; at most %d are recommended",
		len(engine), math.Pow10(digits), recommendedLength)
}
