// Package httpserver serves a service's HTTP API: settings, certificate, graceful start and
// shutdown, and the middleware of every request. The service itself defines the responses
// and the format of errors.
//
//	options.AddFlags(flags, httpserver.FlagText{...})                     // --api-bind-address and others
//	...
//	observer, err := httpserver.NewObserver(httpserver.ObserverConfig{...}) // log, metrics, span
//	handler := observer.Observe(httpserver.Recovered(fail, httpserver.Limited(n, tooMany, mux)))
//	server := httpserver.New(httpserver.Config{Options: options, Handler: handler, Log: log})
//	...
//	err = manager.Add(server)
//
// Package access controls who may send requests. Every replica serves, not only the leader.
// On an address other than loopback the server requires a provided certificate.
package httpserver
