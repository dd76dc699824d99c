// Command superset-operator runs Apache Superset installations on Kubernetes.
package main

import (
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/app"
)

func main() { service.Main(app.Spec()) }
