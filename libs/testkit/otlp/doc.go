// Package otlp receives spans like an OpenTelemetry collector, over OTLP/HTTP on
// loopback, and stores them for a test to inspect:
//
//	r := otlp.Start(t)
//	cmd.Env = append(os.Environ(), r.Env()...)
//	...
//	expect.Eventually(t, expect.Long, func() error {
//		chain, err := otlp.Chain(r.Spans(), leaf)
//		...
//	})
//
// Spans arrive in batches and unordered, and a parent may arrive after its children: wait
// for the span that you need.
package otlp
