// Package aggregator puts the parts of the service together.
//
//	bus ──► ingest ──► model, silence ─┐
//	                                   ├─► controller/status ──► history ──► bus
//	API server ──► watch ──────────────┘            │
//	        ▲                                       ▼
//	        └── lease ◄── healthy?             conditions (server-side apply)
//
// Every replica watches. The leader alone reads the bus, holds the Lease and
// acts, and only while all three of these are so: it is connected, it has caught
// up with the streams, and the bucket takes its writes.
package aggregator
