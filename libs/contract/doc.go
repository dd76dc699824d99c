// Package contract defines the API of Flotilla's message bus: the subjects, the
// envelope and the payloads. It does not send or receive messages.
//
// It imports the standard library only, so that a program outside this
// repository can depend on it without pulling in Kubernetes or NATS.
//
// Every message is a CloudEvents 1.0 event in structured JSON mode
// ([Event]) of at most [MaxMessageBytes]. Four families of subjects exist:
//
//   - observations ([Observation]): the state of one object as an operator sees it, last value wins;
//   - heartbeats ([Heartbeat]): an operator is alive;
//   - lifecycle events ([Lifecycle]): the public history of an object;
//   - change events ([Change]): the writes of the ingester to MySQL.
//
// Within a major version (the v1 in subject and type) fields are only added.
// Readers ignore unknown fields and reject unknown major versions
// ([ErrUnsupportedType]).
package contract
