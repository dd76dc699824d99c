package gateway

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// pullPolicy returns Always for a mutable tag (latest or none), and IfNotPresent otherwise.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	if !strings.Contains(name, "@") && (!tagged || tag == "latest") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}
