// Package bus carries the contract's messages over NATS JetStream.
//
// JetStream is a bus and a cache here, never the system of record: it may be unavailable
// for hours or lose all data, and a service must not block, fail or become unready
// because of that. Hence:
//
//   - [Connect] succeeds while no server is available and retries without a limit;
//   - [Publisher.Enqueue] is a memory write; a background sender publishes the newest
//     message of each subject, one at a time, and keeps what is not acknowledged;
//   - [Publisher.OnReset] reports a stream reset, so that the caller can offer its whole
//     state again ([ObservationPublisher] does so by itself);
//   - [Tail] reads the last message of each subject, then new messages, and restarts
//     with a snapshot whenever it may have missed one.
//
// [Bootstrap] creates the streams and the bucket, [Verify] lists each difference
// between the server and the contract. Services verify; only the bootstrap command
// and the local stack create.
package bus
