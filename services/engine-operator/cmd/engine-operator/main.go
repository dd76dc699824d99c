// Command engine-operator runs Firebolt instances and engines.
package main

import (
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/setup"
)

func main() { service.Main(setup.Spec()) }
