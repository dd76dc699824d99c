// Package httpserver serves a service's HTTP API: its settings, its certificate, an orderly
// start and end, and what surrounds every request. What is answered, and how an error looks,
// is the service's own.
//
//	options.AddFlags(flags, httpserver.Wording{...})                     // --api-bind-address and others
//	...
//	observer, err := httpserver.NewObserver(httpserver.ObserverConfig{...}) // log, metrics, span
//	handler := observer.Observe(httpserver.Recovered(fail, httpserver.Limited(n, tooMany, mux)))
//	server := httpserver.New(httpserver.Config{Options: options, Handler: handler, Log: log})
//	...
//	err = manager.Add(server)
//
// Who may ask is decided by package access. Every replica serves, not only the leader.
// Nothing is served on an address that others reach without a certificate from outside.
package httpserver
