// Command ingester keeps durable copies of Michelangelo objects in MySQL.
//
// Without arguments it runs the service; "ingester migrate status|up|verify" works
// on the database schema. --help lists the settings.
package main

import (
	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/app"
)

func main() {
	service.Main(app.Spec())
}
