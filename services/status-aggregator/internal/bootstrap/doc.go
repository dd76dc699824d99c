// Package bootstrap implements the command "bus": it creates the assets that the services only verify.
//
//	status-aggregator bus bootstrap --replicas=3 --deny-purge   create or update streams and bucket
//	status-aggregator bus bootstrap --dry-run                   print the changes without making them
//	status-aggregator bus verify                                print each difference, exit 1 if there is one
//	status-aggregator bus consumer pager --filter=...           create the consumer that a tool reads from
//
// Settings without a flag keep their current value, so a bootstrap without flags never
// shrinks an asset that was enlarged before. Nothing is ever deleted. The command needs the
// permissions of deploy/nats/bootstrap.conf and no cluster.
package bootstrap
