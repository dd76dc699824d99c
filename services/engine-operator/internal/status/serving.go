package status

import (
	"strings"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
)

// Serving returns the pods, the desired size and the image of the active generation.
func Serving(c observe.Children, active int64) (ready, total, replicas int32, image string) {
	set := c.StatefulSets[active]
	if set == nil || active == engine.None {
		return 0, 0, 0, ""
	}
	total, ready = observe.Count(c.Pods[active])
	if set.Spec.Replicas != nil {
		replicas = *set.Spec.Replicas
	}
	if len(set.Spec.Template.Spec.Containers) > 0 {
		image = set.Spec.Template.Spec.Containers[0].Image
	}
	return ready, total, replicas, image
}

// messageLimit is the contract's limit of a message.
const messageLimit = 1024

// Clamp truncates a message to the contract's limit.
func Clamp(s string) string { return truncate(s, messageLimit) }

func truncate(s string, limit int) string {
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit-3], "") + "..."
	}
	return s
}
