// Package stubengine runs stub engines: real processes with the ports of an engine node, for tests of code that
// observes, drains or terminates engines.
//
// Each node is a process with its own loopback address (127.x.y.z) and the same ports as
// every other node of the test binary, so that code that connects to "port 9090 of that pod"
// works unchanged with [Ports].
//
//	node := stubengine.Start(t)
//	go node.Query(ctx, 2*time.Second) // counted in firebolt_running_queries meanwhile
//	node.Metrics(ctx, server.Unresponsive) // the metrics port never answers after this
//	node.Terminate()                  // SIGTERM, like a kubelet
//	<-node.Ended()
//
// Each test binary builds the program once, with the go command. Package watchdog kills the
// processes when the test binary exits, even if it is killed.
package stubengine
