// Package bootstrap is the command "bus": it makes what the services only verify.
//
//	status-aggregator bus bootstrap --replicas=3 --production   create or update streams and bucket
//	status-aggregator bus bootstrap --dry-run                   say what that would change
//	status-aggregator bus verify                                name each difference, exit 1 if there is one
//	status-aggregator bus consumer pager --filter=...           make the consumer that a tool reads from
//
// What no flag names stays as it is found, so a bootstrap without flags shrinks nothing
// that an earlier one has made larger. Nothing is ever deleted. It needs the rights of
// deploy/nats/bootstrap.conf and no cluster.
package bootstrap
