package registry

// kinds lists the registered kinds in their canonical order. Each needs a message
// of the same name in package michelangelo.api.v2 with the option
// (flotilla.ingester.kind); [Load] checks both directions.
var kinds = []string{
	"Model",
	"Project",
}
