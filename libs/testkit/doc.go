// Package testkit is the root of the test packages that all modules share.
//
// It contains no code. Each concern has its own package:
//
//   - cluster: a real Kubernetes control plane with simulated nodes, one per test binary, one namespace per test; a
//     private one can be saved and restored, like an etcd backup.
//   - natstest: a real NATS server with JetStream inside the test process, which can be stopped, started and wiped.
//   - mysqltest: a new database for each test on a real MySQL or MariaDB server, or on both; private servers that a
//     test can stop, kill and start.
//   - postgres: databases on a real PostgreSQL server, one server per test binary.
//   - asyncapi: messages checked against an AsyncAPI document.
//   - otlp: a receiver of OpenTelemetry spans.
//   - authority: certificates that an authority signs, for TLS on both sides.
//   - certdir: a directory with a certificate for loopback.
//   - goprogram: programs of this repository as processes of a test.
//   - stubengine: stub engines as real processes on loopback.
//   - mutants: changes of the source that a test must detect.
//   - expect: waiting for conditions without sleeping.
//
// They are built on packages that the local stack (tools/stack) uses as well: controlplane, kubectl, mysqlserver,
// cachedir, proc, await, debian, freeport, permissions and watchdog.
//
// These packages use real servers and never skip a test: if a server is missing, the test fails and prints the remedy.
// Package watchdog removes everything that a test starts when the test process exits, even if it is killed.
package testkit
