package object

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

// maxLag is how long a reconcile waits for the cache to show the version that an observation describes. In a cluster that was
// restored from a backup it never does.
const maxLag = time.Second

// lags reports whether an object's version is older than the one that a recent observation describes.
func lags(version string, received *model.Received, now time.Time) bool {
	if received == nil || !received.Live || !now.Before(received.ReceivedAt.Add(maxLag)) {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, received.Observation.Object.ResourceVersion)
	return err == nil && order < 0 // an observer may publish no version
}
