// Package telemetry gives every Flotilla process the same logs, traces and
// build information.
//
// It depends on neither Kubernetes nor NATS, so that the bus and the services share
// it without an import cycle:
//
//   - [NewLogger] returns a logr.Logger that writes JSON (production) or text;
//   - [SetupTracing] exports spans by OTLP when the standard environment
//     variables enable it, and costs nothing otherwise;
//   - [InjectHeaders] and [ExtractHeaders] carry the trace context in message
//     headers in W3C form, so that one trace spans several services;
//   - [BuildInfo] and [RegisterBuildInfo] identify the running build.
//
// Nothing here starts a goroutine unless tracing is configured.
package telemetry
