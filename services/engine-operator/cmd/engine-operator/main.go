// Command engine-operator runs Firebolt instances and engines.
package main

import (
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/app"
)

func main() { service.Main(app.Spec()) }
