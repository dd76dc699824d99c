// Package otlp receives spans as an OpenTelemetry collector does, over OTLP/HTTP on
// loopback, and keeps them for a test to inspect:
//
//	r := otlp.Start(t)
//	cmd.Env = append(os.Environ(), r.Env()...)
//	...
//	expect.Eventually(t, expect.Long, func() error {
//		chain, err := otlp.Chain(r.Spans(), leaf)
//		...
//	})
//
// Spans come in batches, in no order, and a parent may come after its children: wait for
// the span that you need.
package otlp
