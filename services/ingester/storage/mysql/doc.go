// Package mysql keeps objects in MySQL 8.4 and later, or MariaDB 10.11 and later.
//
//	store, err := mysql.Open(ctx, mysql.Options{DSN: dsn})
//	...
//	err = store.Prepare(ctx)            // waits for the server, applies migrations
//	store.SetIncarnation(1)             // the incarnation; writes are accepted from now on
//	err = store.Upsert(ctx, object, false, nil)
//
// Open does not connect, so that a program can start before its database. Writes wait
// for SetIncarnation until their context ends. Concurrent writes are batched into few
// transactions; call from many goroutines to write fast.
package mysql
