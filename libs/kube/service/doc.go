// Package service implements the main function of every service: options, logs,
// tracing, the bus, the manager, and a graceful shutdown.
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
// A service waits for what may be unavailable at first: an API server that does not
// answer, and the CRDs and permissions that it cannot start without
// ([Spec.Prerequisites]). Such a wait costs one log line when it begins and one when it
// ends; a service never waits for the bus. An invalid setting is reported in one line on
// stderr that names it, with exit code 1.
//
// A service is ready if the API server answers and the prerequisites were met at the
// start. Readiness never depends on the bus.
package service
