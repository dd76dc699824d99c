// Command status-aggregator computes the status conditions of every managed resource from the
// observations of the operators, and publishes their changes as lifecycle events.
package main

import (
	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/app"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/bootstrap"
)

func main() {
	spec := app.Spec()
	spec.Commands = bootstrap.Commands()
	service.Main(spec)
}
