package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Params are the settings of the streams and the bucket that an installation chooses.
// Sizes are in bytes. [Bootstrap] requires all of them; [Verify] accepts any value for
// a zero one.
type Params struct {
	Replicas   int  // copies of each asset: 1, 3 or 5
	Production bool // forbid deleting and purging in the public histories

	ObservationsMaxBytes int64
	LifecycleMaxAge      time.Duration
	LifecycleMaxBytes    int64
	ChangesMaxAge        time.Duration
	ChangesMaxBytes      int64
	DeadLettersMaxAge    time.Duration
	DeadLettersMaxBytes  int64
	StatusMaxBytes       int64
}

const (
	mebibyte = 1 << 20
	day      = 24 * time.Hour

	statusHistory     = 20
	heartbeatMaxBytes = 16 * mebibyte
	statusMarkerTTL   = day
)

// DefaultParams returns the Params of the local stack: one copy, small sizes, deletes permitted.
func DefaultParams() Params {
	return Params{
		Replicas:             1,
		ObservationsMaxBytes: 256 * mebibyte,
		LifecycleMaxAge:      30 * day,
		LifecycleMaxBytes:    1024 * mebibyte,
		ChangesMaxAge:        7 * day,
		ChangesMaxBytes:      1024 * mebibyte,
		DeadLettersMaxAge:    7 * day,
		DeadLettersMaxBytes:  64 * mebibyte,
		StatusMaxBytes:       256 * mebibyte,
	}
}

// advisories are the subjects of the server's advisories about a message that a durable
// consumer no longer delivers: it was delivered as often as allowed, or its reader
// terminated it. The advisory names the stream and the sequence; the message itself stays.
var advisories = []string{
	"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>",
	"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>",
}

// streams returns the configuration of every stream of the contract.
func (p Params) streams() []jetstream.StreamConfig {
	stream := func(name, prefix, description string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name:        name,
			Description: description,
			Subjects:    []string{prefix + ".>"},
			Retention:   jetstream.LimitsPolicy,
			Discard:     jetstream.DiscardOld,
			Storage:     jetstream.FileStorage,
			Replicas:    p.Replicas,
			MaxMsgSize:  contract.MaxMessageBytes,
			Duplicates:  2 * time.Minute,
			AllowDirect: true,
		}
	}
	observations := stream(contract.StreamObservations, contract.ObservationPrefix, "Latest observation of each object")
	observations.MaxMsgsPerSubject = 1
	observations.MaxBytes = p.ObservationsMaxBytes
	// Without markers of expired messages: they require rollups, by which a publisher can remove the messages of all others.
	observations.AllowMsgTTL = true

	heartbeats := stream(contract.StreamHeartbeats, contract.HeartbeatPrefix, "Latest heartbeat of each observer")
	// File storage, although no reader needs heartbeats after a restart: a single server loses
	// a memory stream itself, and its readers would then miss all heartbeats.
	heartbeats.MaxMsgsPerSubject = 1
	heartbeats.MaxBytes = heartbeatMaxBytes
	heartbeats.AllowMsgTTL = true

	lifecycle := stream(contract.StreamLifecycle, contract.LifecyclePrefix, "Lifecycle events: the public history")
	lifecycle.MaxAge, lifecycle.MaxBytes = p.LifecycleMaxAge, p.LifecycleMaxBytes
	lifecycle.Duplicates = 10 * time.Minute
	lifecycle.Compression = jetstream.S2Compression
	lifecycle.DenyDelete, lifecycle.DenyPurge = p.Production, p.Production

	changes := stream(contract.StreamChanges, contract.ChangePrefix, "Committed changes of the database")
	changes.MaxAge, changes.MaxBytes = p.ChangesMaxAge, p.ChangesMaxBytes
	changes.Duplicates = 10 * time.Minute
	changes.Compression = jetstream.S2Compression
	changes.DenyDelete, changes.DenyPurge = p.Production, p.Production

	deadLetters := stream(contract.StreamDeadLetters, contract.DeadLetterPrefix, "Messages that could not be processed")
	deadLetters.Subjects = append(deadLetters.Subjects, advisories...)
	deadLetters.MaxAge, deadLetters.MaxBytes = p.DeadLettersMaxAge, p.DeadLettersMaxBytes
	deadLetters.MaxMsgSize = 0 // a dead letter may be one that was too large

	return []jetstream.StreamConfig{observations, heartbeats, lifecycle, changes, deadLetters}
}

// bucket returns the configuration of the key-value bucket.
func (p Params) bucket() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket:         contract.BucketStatus,
		Description:    "Status entry of each object",
		MaxValueSize:   contract.MaxMessageBytes,
		History:        statusHistory,
		MaxBytes:       p.StatusMaxBytes,
		Storage:        jetstream.FileStorage,
		Replicas:       p.Replicas,
		LimitMarkerTTL: statusMarkerTTL,
	}
}

// Bootstrap creates every asset, or updates it to match p; it is idempotent.
func Bootstrap(ctx context.Context, js jetstream.JetStream, p Params) error {
	for _, cfg := range p.streams() {
		err := retry(ctx, func() error {
			_, err := js.CreateOrUpdateStream(ctx, cfg)
			return err
		})
		if err != nil {
			return fmt.Errorf("create stream %q: %w", cfg.Name, p.withAdvice(err))
		}
	}
	err := retry(ctx, func() error {
		_, err := js.CreateOrUpdateKeyValue(ctx, p.bucket())
		return err
	})
	if err != nil {
		return fmt.Errorf("create bucket %q: %w", contract.BucketStatus, p.withAdvice(err))
	}
	return nil
}

// Error codes for a stream whose limit exceeds the storage that is left, of a single server and of a cluster.
const (
	errCodeStorageExceeded = 10047
	errCodeNoPeers         = 10005 // also for other reasons, which the description names
)

// withAdvice adds the storage that all assets need to the error of a server that has less.
func (p Params) withAdvice(err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	noPeers := api.ErrorCode == errCodeNoPeers && strings.Contains(api.Description, "insufficient storage")
	if api.ErrorCode != errCodeStorageExceeded && !noPeers {
		return err
	}
	total := p.StatusMaxBytes
	for _, s := range p.streams() {
		total += s.MaxBytes
	}
	return fmt.Errorf("%w (the streams need %d MiB together: set max_file_store of the server to more, "+
		"by default it is 75%% of the free disk space, or use smaller limits)", err, total/mebibyte)
}

// errCodeStreamCreate is the server's error code for a stream that it failed to create.
// One cause is the deletion of the account's last stream just before: the server removes
// the account's directory at the same time. The next attempt then succeeds.
const errCodeStreamCreate = 10049

const createTries = 5

// retry repeats create with a backoff while the server fails with errCodeStreamCreate.
func retry(ctx context.Context, create func() error) error {
	var err error
	for try := 1; try <= createTries; try++ {
		err = create()
		var api *jetstream.APIError
		if !errors.As(err, &api) || api.ErrorCode != errCodeStreamCreate {
			return err
		}
		timer := time.NewTimer(backoff(try))
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		case <-timer.C:
		}
	}
	return err
}
