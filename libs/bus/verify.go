package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Drift is one difference between an asset and the contract.
type Drift struct {
	Asset string // name of the stream or bucket, or "server"
	Field string // "exists" when all of it is missing
	Want  string
	Got   string
}

// String returns one line for a log.
func (d Drift) String() string {
	return fmt.Sprintf("%s: %s is %s, want %s", d.Asset, d.Field, d.Got, d.Want)
}

// minServerVersion is the first release that supports message TTLs and markers.
const minServerVersion = "2.11"

// Verify lists each difference between the assets and p; an empty list means that they match.
// It returns an error if the server does not reply.
func Verify(ctx context.Context, js jetstream.JetStream, p Params) ([]Drift, error) {
	drifts := verifyServer(js.Conn().ConnectedServerVersion())
	for _, want := range p.streams() {
		found, err := verifyStream(ctx, js, want.Name, want)
		if err != nil {
			return nil, err
		}
		drifts = append(drifts, found...)
	}
	found, err := verifyStream(ctx, js, contract.BucketStatus, bucketStream(p.bucket()))
	if err != nil {
		return nil, err
	}
	return append(drifts, found...), nil
}

func verifyServer(version string) []Drift {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return nil // not connected at this moment: the next call fails
	}
	if major > 2 || (major == 2 && minor >= 11) {
		return nil
	}
	return []Drift{{Asset: "server", Field: "version", Want: minServerVersion + " or later", Got: version}}
}

func verifyStream(ctx context.Context, js jetstream.JetStream, asset string, want jetstream.StreamConfig) ([]Drift, error) {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return []Drift{{Asset: asset, Field: "exists", Want: "true", Got: "false"}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get stream info %q: %w", want.Name, err)
	}
	got := stream.CachedInfo().Config
	var drifts []Drift
	for _, f := range fields {
		w, g := f.read(&want), f.read(&got)
		if w != g && (!f.optional || w != f.read(&jetstream.StreamConfig{})) {
			drifts = append(drifts, Drift{Asset: asset, Field: f.name, Want: w, Got: g})
		}
	}
	return drifts, nil
}

// bucketStream returns the configuration of the stream behind a bucket, as the client creates it.
func bucketStream(kv jetstream.KeyValueConfig) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                   "KV_" + kv.Bucket,
		Subjects:               []string{"$KV." + kv.Bucket + ".>"},
		Storage:                kv.Storage,
		Discard:                jetstream.DiscardNew,
		Replicas:               kv.Replicas,
		MaxBytes:               kv.MaxBytes,
		MaxMsgSize:             kv.MaxValueSize,
		MaxMsgsPerSubject:      int64(kv.History),
		AllowDirect:            true,
		AllowMsgTTL:            true,
		AllowRollup:            true,
		SubjectDeleteMarkerTTL: kv.LimitMarkerTTL,
		Duplicates:             2 * time.Minute,
		DenyDelete:             true,
	}
}

// field is one setting that is compared.
type field struct {
	name     string
	optional bool // the installation chooses it; zero accepts any value
	read     func(*jetstream.StreamConfig) string
}

var fields = []field{
	{"subjects", false, func(c *jetstream.StreamConfig) string {
		return strings.Join(slices.Sorted(slices.Values(c.Subjects)), ",")
	}},
	{"retention", false, func(c *jetstream.StreamConfig) string { return c.Retention.String() }},
	{"discard", false, func(c *jetstream.StreamConfig) string { return c.Discard.String() }},
	{"storage", false, func(c *jetstream.StreamConfig) string { return c.Storage.String() }},
	{"compression", false, func(c *jetstream.StreamConfig) string { return c.Compression.String() }},
	{"max_msgs_per_subject", false, func(c *jetstream.StreamConfig) string { return number(c.MaxMsgsPerSubject) }},
	{"max_msg_size", false, func(c *jetstream.StreamConfig) string { return number(int64(c.MaxMsgSize)) }},
	{"duplicate_window", false, func(c *jetstream.StreamConfig) string { return c.Duplicates.String() }},
	{"allow_direct", false, func(c *jetstream.StreamConfig) string { return fmt.Sprint(c.AllowDirect) }},
	{"allow_msg_ttl", false, func(c *jetstream.StreamConfig) string { return fmt.Sprint(c.AllowMsgTTL) }},
	{"allow_rollup_hdrs", false, func(c *jetstream.StreamConfig) string { return fmt.Sprint(c.AllowRollup) }},
	{"subject_delete_marker_ttl", false, func(c *jetstream.StreamConfig) string { return c.SubjectDeleteMarkerTTL.String() }},
	{"num_replicas", true, func(c *jetstream.StreamConfig) string { return number(int64(c.Replicas)) }},
	{"max_age", true, func(c *jetstream.StreamConfig) string { return c.MaxAge.String() }},
	{"max_bytes", true, func(c *jetstream.StreamConfig) string { return number(c.MaxBytes) }},
	{"deny_delete", true, func(c *jetstream.StreamConfig) string { return fmt.Sprint(c.DenyDelete) }},
	{"deny_purge", true, func(c *jetstream.StreamConfig) string { return fmt.Sprint(c.DenyPurge) }},
}

// number formats a limit; 0 and -1 both mean "no limit" and give the same text.
func number(n int64) string { return fmt.Sprint(max(0, n)) }
