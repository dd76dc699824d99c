package render

import corev1 "k8s.io/api/core/v1"

// Variable returns an environment variable whose value reaches the container
// unchanged, dollar signs included.
func Variable(name, value string) corev1.EnvVar { return plain(name, value) }
