// Package bus carries the contract's messages over NATS JetStream.
//
// JetStream is a bus and a cache here, never the system of record: it may be absent
// for hours or lose everything, and no service may block, fail or report not-ready
// for that reason. Hence:
//
//   - [Connect] succeeds while no server is there and never gives up;
//   - [Publisher.Offer] is a memory write; a background sender publishes the newest
//     message of each subject, one at a time, and keeps what is not acknowledged;
//   - [Publisher.OnReset] tells when the stream was re-created or went back, so that
//     the state of the world can be offered again ([ObservationPublisher] does so by itself);
//   - [Tail] reads the last message of each subject, then follows, and starts over by
//     itself whenever it cannot be sure to have seen everything.
//
// [Bootstrap] creates the streams and the bucket, [Verify] names each difference
// between what is there and what the contract wants. Services verify; only the
// bootstrap command and the local stack create.
package bus
