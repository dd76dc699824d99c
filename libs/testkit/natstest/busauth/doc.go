// Package busauth runs a NATS server with the accounts and permissions that deploy/nats ships, and reports which its clients
// used and which requests were denied.
//
//	srv := busauth.Start(t, busauth.Names{Cluster: "prod", Namespace: "team-a", Tool: "pager"})
//	tap := srv.Tap(t)
//	conn, err := bus.Connect(bus.Config{URL: srv.As("ingester"), Name: "ingester"})
//	... // run everything that the real client does
//	srv.WantNoViolations(t)             // all required permissions are granted
//	unused := tap.Unused(t, "ingester") // and no others
package busauth
