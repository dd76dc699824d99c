package readmodel

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// A bucket is a stream, and its keys are subjects.
const (
	bucketStream = "KV_" + contract.BucketStatus
	bucketPrefix = "$KV." + contract.BucketStatus + "."
)

// entryInfo is the part of a status entry that the object itself does not have.
type entryInfo struct {
	uid             string
	provenance      *contract.Provenance
	deployedVersion string
	updatedAt       time.Time
}

// entries caches the status bucket.
type entries struct {
	cluster string
	clock   clock.WithTicker

	mu       sync.RWMutex
	items    map[contract.Ref]entryInfo
	incoming map[contract.Ref]entryInfo // the snapshot in progress; nil otherwise
}

func newEntries(cluster string, clk clock.WithTicker) *entries {
	return &entries{cluster: cluster, clock: clk, items: map[contract.Ref]entryInfo{}, incoming: map[contract.Ref]entryInfo{}}
}

// start watches the bucket until ctx ends. The cache is kept while the bus is unavailable.
func (e *entries) start(ctx context.Context, js jetstream.JetStream) error {
	token, err := contract.EncodeToken(e.cluster)
	if err != nil {
		return err
	}
	return bus.Tail(ctx, js, bus.TailConfig{
		Stream: bucketStream, Filters: []string{bucketPrefix + token + ".>"},
		OnMessage: e.read, OnSnapshot: e.complete, OnRestart: func(bool) { e.restart() },
		Log: logr.FromContextOrDiscard(ctx), Clock: e.clock,
	})
}

func (e *entries) read(d bus.Delivery) {
	ref, err := contract.ParseKey(strings.TrimPrefix(d.Subject, bucketPrefix))
	if err != nil {
		return // a foreign key
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	items := e.items
	if e.incoming != nil {
		items = e.incoming
	}
	var entry contract.StatusEntry
	if json.Unmarshal(d.Data, &entry) != nil { // the marker of a deleted entry has no content
		delete(items, ref)
		return
	}
	items[ref] = entryInfo{
		uid: entry.Object.UID, provenance: entry.Provenance,
		deployedVersion: entry.DeployedVersion, updatedAt: entry.UpdatedAt,
	}
}

func (e *entries) restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.incoming = map[contract.Ref]entryInfo{}
}

func (e *entries) complete() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.incoming != nil {
		e.items, e.incoming = e.incoming, nil
	}
}

// of returns the entry of one incarnation.
func (e *entries) of(ref contract.Ref, uid string) (entryInfo, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s, ok := e.items[ref]
	return s, ok && s.uid == uid
}
