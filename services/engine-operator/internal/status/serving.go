package status

import (
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
