// Package events tests docs/events and deploy/nats: the document is valid AsyncAPI, published messages match it, the
// recipes of README.md work, and the permissions of deploy/nats grant each identity only what it requires.
package events
