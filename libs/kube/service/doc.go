// Package service is the body of every main: options, logs, tracing, the bus,
// the manager, and an orderly end.
//
// A service declares itself as a [Spec] and calls [Main]:
//
//	func main() {
//		service.Main(service.Spec{
//			Name:        "superset-operator",
//			AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
//			Setup:       controller.Setup,
//		})
//	}
//
// What may be absent for a while is waited for: an API server that does not
// answer, and definitions and rights without which nothing can begin ([Spec.Needs]),
// cost one log line when the wait begins and one when it ends; the bus is never
// waited for at all. What is wrong is one line on stderr that names the
// setting, and exit code 1.
//
// Readiness says whether the API server answers and what is needed was there at the
// start. It never depends on the bus.
package service
