// Command status-aggregator folds what the operators observe into the status
// conditions of every managed resource, and tells the world what became of them.
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
