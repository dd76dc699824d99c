// Package testkit is the root of the test vocabulary that every module shares.
//
// It holds no code itself. Each concern is a package of its own:
//
//   - cluster: a real Kubernetes control plane with simulated nodes, one per test binary, one namespace per test; one
//     of a test's own can be saved and restored, as from a backup of etcd.
//   - natstest: a real NATS server with JetStream inside the test process, which can be stopped, started and wiped.
//   - mysqltest: a fresh database on a real MySQL or MariaDB server for each test, or on each of the two; servers of
//     one test alone that can be stopped, killed and started.
//   - postgres: databases on a real PostgreSQL server of the test binary's own.
//   - asyncapi: messages checked against an AsyncAPI document.
//   - otlp: a receiver of OpenTelemetry spans.
//   - authority: certificates that an authority signs, for TLS on both sides.
//   - certdir: a directory with a certificate for loopback.
//   - goprogram: programs of this repository as processes of a test.
//   - stubengine: stub engines as real processes on loopback.
//   - mutants: changes of the source that a test must notice.
//   - expect: waiting for conditions without sleeping.
//   - gen: builders for the objects that many tests need.
//
// Below them lie the parts that the local stack (tools/stack) uses as well: controlplane, kubectl, mysqlserver, cachedir,
// proc, await, debian, freeport and watchdog.
//
// Nothing here is a fake, and nothing here skips: a server that is missing fails the test with advice on how to get
// it. Whatever a test starts is removed when its process ends, also when that process is killed (see watchdog).
package testkit
