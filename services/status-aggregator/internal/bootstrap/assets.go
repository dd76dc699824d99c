package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// assets lists the streams of the bus, including the stream of the bucket, in output order.
var assets = []string{
	contract.StreamObservations, contract.StreamHeartbeats, contract.StreamLifecycle,
	contract.StreamChanges, contract.StreamDeadLetters, statusStream,
}

// errDiffers makes verify end with exit code 1.
var errDiffers = errors.New("the bus is not up to date")

func (f *flags) verify(ctx context.Context, js jetstream.JetStream, out io.Writer) error {
	found, err := inspect(ctx, js)
	if err != nil {
		return err
	}
	drifts, err := bus.Verify(ctx, js, f.given())
	if err != nil {
		return err
	}
	drifts = append(drifts, placementDrift(found, f.placementTags)...)
	for _, d := range drifts {
		fmt.Fprintln(out, d)
	}
	if len(drifts) > 0 {
		return fmt.Errorf("%w: %d differences", errDiffers, len(drifts))
	}
	fmt.Fprintln(out, "The bus is up to date.")
	return nil
}

func (f *flags) bootstrap(ctx context.Context, js jetstream.JetStream, out io.Writer) error {
	before, err := inspect(ctx, js)
	if err != nil {
		return err
	}
	p := desiredParams(f.given(), before)
	place := placement(before)
	if f.set.Changed("placement-tags") {
		place.Tags = f.placementTags
	}
	drifts, err := bus.Verify(ctx, js, p)
	if err != nil {
		return err
	}
	drifts = append(drifts, placementDrift(before, place.Tags)...)
	if f.dryRun || len(drifts) == 0 {
		printDrift(out, drifts, f.dryRun)
		return nil
	}
	if err := bus.Bootstrap(ctx, withPlacement(js, place), p); err != nil {
		return err
	}
	printDrift(out, drifts, false)
	return f.verifyBootstrap(ctx, js, p, out)
}

// verifyBootstrap verifies the assets after an update, since a server may accept an update without applying it.
func (f *flags) verifyBootstrap(ctx context.Context, js jetstream.JetStream, p bus.Params, out io.Writer) error {
	remaining, err := bus.Verify(ctx, js, p)
	if err != nil {
		return err
	}
	for _, d := range remaining {
		fmt.Fprintln(out, "still:", d)
	}
	if len(remaining) > 0 {
		return fmt.Errorf("%w: %d differences are left", errDiffers, len(remaining))
	}
	return nil
}

// printDrift prints one line for each difference that was applied or, with dryRun, would be applied.
func printDrift(out io.Writer, drifts []bus.Drift, dryRun bool) {
	created, changed := "created", "changed"
	if dryRun {
		created, changed = "would be created", "would be changed"
	}
	differs := map[string]bool{}
	for _, d := range drifts {
		differs[d.Asset] = true
		if d.Field == "exists" {
			fmt.Fprintf(out, "%s: %s\n", d.Asset, created)
			continue
		}
		fmt.Fprintf(out, "%s: %s %s from %s to %s\n", d.Asset, d.Field, changed, d.Got, d.Want)
	}
	for _, name := range assets {
		if !differs[displayName(name)] {
			fmt.Fprintf(out, "%s: up to date\n", displayName(name))
		}
	}
}

// displayName returns the displayed name of a stream: the bucket's name for its stream.
func displayName(stream string) string {
	if stream == statusStream {
		return contract.BucketStatus
	}
	return stream
}

// inspect returns the configuration of each existing asset.
func inspect(ctx context.Context, js jetstream.JetStream) (map[string]jetstream.StreamConfig, error) {
	found := map[string]jetstream.StreamConfig{}
	for _, name := range assets {
		stream, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get stream info of %q: %w", name, err)
		}
		found[name] = stream.CachedInfo().Config
	}
	return found, nil
}

// placement returns a copy of the current placement of the streams.
func placement(found map[string]jetstream.StreamConfig) jetstream.Placement {
	for _, name := range assets {
		if p := found[name].Placement; p != nil {
			return *p
		}
	}
	return jetstream.Placement{}
}

// placementDrift lists the existing streams with other tags; nil tags match any.
func placementDrift(found map[string]jetstream.StreamConfig, tags []string) []bus.Drift {
	var out []bus.Drift
	for _, name := range assets {
		cfg, there := found[name]
		var got []string
		if cfg.Placement != nil {
			got = cfg.Placement.Tags
		}
		if there && tags != nil && !slices.Equal(got, tags) {
			out = append(out, bus.Drift{Asset: displayName(name), Field: "placement_tags", Want: fmt.Sprint(tags), Got: fmt.Sprint(got)})
		}
	}
	return out
}

// placedJetStream creates and updates all assets with one placement. A stream that is created
// without it would have to move later.
type placedJetStream struct {
	jetstream.JetStream
	placement *jetstream.Placement
}

func withPlacement(js jetstream.JetStream, p jetstream.Placement) jetstream.JetStream {
	if p.Cluster == "" && len(p.Tags) == 0 {
		return js
	}
	return placedJetStream{js, &p}
}

// CreateOrUpdateStream adds the placement.
func (p placedJetStream) CreateOrUpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	cfg.Placement = p.placement
	return p.JetStream.CreateOrUpdateStream(ctx, cfg)
}

// CreateOrUpdateKeyValue adds the placement.
func (p placedJetStream) CreateOrUpdateKeyValue(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	cfg.Placement = p.placement
	return p.JetStream.CreateOrUpdateKeyValue(ctx, cfg)
}
