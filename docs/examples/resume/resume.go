package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

const (
	// retryAfter is the delay between attempts while the server or a stream is unavailable.
	retryAfter = time.Second
	// saveEvery limits the number of events that are read again after a crash; they are not counted again.
	saveEvery = 100
)

type options struct {
	cluster, namespace string
	file               string
	once               bool
}

// reader applies the events to the table.
type reader struct {
	options
	js      jetstream.JetStream
	out     io.Writer
	table   *table
	unsaved int // events that are in the table but not in the file
}

// errCaughtUp ends a run that stops at the end of the stream.
var errCaughtUp = errors.New("caught up")

// resume updates the table until ctx ends.
func resume(ctx context.Context, nc *nats.Conn, o options, out io.Writer) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("set up JetStream: %w", err)
	}
	r := &reader{options: o, js: js, out: out}
	for ctx.Err() == nil {
		// Start from the file: events that were not saved are read again.
		if r.table, err = load(o.file); err != nil {
			return err
		}
		err := r.read(ctx)
		if errors.Is(err, errCaughtUp) {
			return nil
		}
		if ctx.Err() == nil {
			fmt.Fprintf(out, "# waiting: %v\n", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
	return nil
}

// read reads the stream until an error.
func (r *reader) read(ctx context.Context) (err error) {
	stream, err := r.js.Stream(ctx, contract.StreamLifecycle)
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	if !r.table.continues(info) {
		// Record the position before reading the entries: an event in between is in both,
		// which is harmless. In the reverse order it would be lost.
		if err := r.snapshot(ctx, info); err != nil {
			return err
		}
	}
	if r.once && r.table.Sequence >= info.State.LastSeq {
		return errCaughtUp
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{contract.LifecyclePrefix + "." + r.cluster + "." + r.namespace + ".>"},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:    r.table.Sequence + 1,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer func() { err = errors.Join(err, r.save()) }()
	pending := consumer.CachedInfo().NumPending
	for {
		if pending == 0 {
			if err := r.save(); err != nil || r.once {
				return errors.Join(err, errCaughtUp)
			}
		}
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		if pending, err = r.handle(ctx, m); err != nil {
			return err
		}
	}
}

// continues reports whether the stream still has all messages after the table's sequence.
func (t *table) continues(info *jetstream.StreamInfo) bool {
	return t != nil && t.Stream.Equal(info.Created) &&
		t.Sequence <= info.State.LastSeq && t.Sequence+1 >= info.State.FirstSeq
}

// snapshot starts a new table from the current status entries.
func (r *reader) snapshot(ctx context.Context, info *jetstream.StreamInfo) (err error) {
	fresh := &table{Stream: info.Created, Sequence: info.State.LastSeq, Objects: map[string]object{}}
	kv, err := r.js.KeyValue(ctx, contract.BucketStatus)
	if err != nil {
		return err
	}
	watcher, err := kv.Watch(ctx, r.cluster+"."+r.namespace+".>", jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, watcher.Stop()) }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case update, ok := <-watcher.Updates():
			if !ok {
				return errors.New("the watch of the status entries ended")
			}
			if update == nil { // all entries have been delivered
				r.table = fresh
				fmt.Fprintf(r.out, "# began with %d objects at event %d\n", len(fresh.Objects), fresh.Sequence)
				return r.table.save(r.file)
			}
			var entry contract.StatusEntry
			if err := json.Unmarshal(update.Value(), &entry); err == nil && entry.Object.UID != "" {
				fresh.add(entry)
			}
		}
	}
}

// handle applies one message to the table and returns how many are pending.
func (r *reader) handle(ctx context.Context, m jetstream.Msg) (pending uint64, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return 0, err
	}
	e, event, err := contract.Decode[contract.Lifecycle](m.Data())
	if err != nil {
		// A later major version, or not an event: skip it, and advance the position.
		fmt.Fprintf(r.out, "# %v\n", err)
		r.table.Sequence = meta.Sequence.Stream
		return meta.NumPending, nil
	}
	if gap := r.table.apply(event, meta.Sequence.Stream); gap {
		if err := r.reread(ctx, event.Object); err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(r.out, "%d %s %s/%s %s\n", meta.Sequence.Stream, e.ID, event.Object.Namespace, event.Object.Name, event.Event)
	if r.unsaved++; r.unsaved >= saveEvery {
		err = r.save()
	}
	return meta.NumPending, err
}

// reread reads the object's entry in place of the missing events.
func (r *reader) reread(ctx context.Context, o contract.Object) error {
	kind, ok := contract.KindFor(o.Group, o.Kind)
	if !ok {
		return nil
	}
	entryKey, err := contract.Ref{Cluster: r.cluster, Namespace: o.Namespace, Kind: kind, Name: o.Name}.Key()
	if err != nil {
		return err
	}
	kv, err := r.js.KeyValue(ctx, contract.BucketStatus)
	if err != nil {
		return err
	}
	update, err := kv.Get(ctx, entryKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil // deleted meanwhile: its event follows
	}
	if err != nil {
		return err
	}
	var entry contract.StatusEntry
	if err := json.Unmarshal(update.Value(), &entry); err == nil && entry.Object.UID == o.UID {
		r.table.add(entry)
	}
	return nil
}

func (r *reader) save() error {
	if r.unsaved == 0 {
		return nil
	}
	r.unsaved = 0
	return r.table.save(r.file)
}
