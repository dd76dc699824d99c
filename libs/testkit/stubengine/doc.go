// Package stubengine runs stub engines: real processes with the ports of an engine node, for tests of code that
// observes, drains or terminates engines.
//
// Each node is a process of its own on a loopback address of its own (127.x.y.z), with the
// same ports as every other node of the test binary, so that code that connects to "port 9090
// of that pod" works unchanged with [Ports].
//
//	node := stubengine.Start(t)
//	go node.Query(ctx, 2*time.Second) // counted in firebolt_running_queries meanwhile
//	node.Metrics(ctx, server.Unresponsive) // the metrics port never answers after this
//	node.Terminate()                  // as a kubelet does: SIGTERM
//	<-node.Ended()
//
// The program is built once per test binary with the go command. No process outlives the
// test binary, also when that is killed (package watchdog).
package stubengine
