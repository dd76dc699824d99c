// Package busauth runs a NATS server under the very permissions that deploy/nats ships, and shows what its clients used
// and what they were refused.
//
//	srv := busauth.Start(t, busauth.Names{Cluster: "prod", Namespace: "team-a", Tool: "pager"})
//	tap := srv.Tap(t)
//	conn, err := bus.Connect(bus.Config{URL: srv.As("ingester"), Name: "ingester"})
//	... // let the real client do all that it ever does
//	srv.WantNoViolations(t)           // all that it needs is granted
//	unused := tap.Unused(t, "ingester") // and nothing else is
package busauth
