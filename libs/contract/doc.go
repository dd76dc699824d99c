// Package contract is what Flotilla promises on its message bus: the subjects,
// the envelope and the payloads, and nothing that moves them.
//
// It imports the standard library only, so that a program outside this
// repository can depend on it without pulling in Kubernetes or NATS.
//
// Every message is a CloudEvents 1.0 event in structured JSON mode
// ([Event]) of at most [MaxMessageBytes]. Four families of subjects exist:
//
//   - observations ([Observation]): what an operator sees of one object, last value wins;
//   - heartbeats ([Heartbeat]): an operator is alive;
//   - lifecycle events ([Lifecycle]): what became of an object; the public history;
//   - change events ([Change]): what the ingester stored in MySQL.
//
// Within a major version (the v1 in subject and type) fields are only added.
// Readers ignore fields that they do not know and refuse majors that they do
// not know ([ErrUnsupportedType]).
package contract
