// Package app wires the parts of the service together.
//
//	bus ──► ingest ──► model, liveness ─┐
//	                                    ├─► controller/object ──► history ──► bus
//	API server ──► watch ───────────────┘            │
//	        ▲                                        ▼
//	        └── lease ◄── healthy?              conditions (server-side apply)
//
// Every replica watches. Only the leader reads the bus, holds the Lease and writes, and only
// while it is connected, has caught up with the streams, and the bucket accepts its writes.
package app
