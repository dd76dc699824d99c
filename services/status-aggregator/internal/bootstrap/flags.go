package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// flags are the flags of the command.
type flags struct {
	set *pflag.FlagSet

	dryRun        bool
	replicas      int
	denyPurge     bool
	placementTags []string
	ages          [len(ages)]time.Duration
	sizes         [len(sizes)]resource.QuantityValue

	filter  string
	deliver string
	ackWait time.Duration
	pending int
}

// chosen is a parameter of an installation: its flag, its asset, and its field in [bus.Params].
type chosen[T any] struct {
	flag, stream string
	of           func(*bus.Params) *T
}

var ages = [...]chosen[time.Duration]{
	{"lifecycle-max-age", contract.StreamLifecycle, func(p *bus.Params) *time.Duration { return &p.LifecycleMaxAge }},
	{"changes-max-age", contract.StreamChanges, func(p *bus.Params) *time.Duration { return &p.ChangesMaxAge }},
	{"dead-letters-max-age", contract.StreamDeadLetters, func(p *bus.Params) *time.Duration { return &p.DeadLettersMaxAge }},
}

var sizes = [...]chosen[int64]{
	{"observations-max-bytes", contract.StreamObservations, func(p *bus.Params) *int64 { return &p.ObservationsMaxBytes }},
	{"lifecycle-max-bytes", contract.StreamLifecycle, func(p *bus.Params) *int64 { return &p.LifecycleMaxBytes }},
	{"changes-max-bytes", contract.StreamChanges, func(p *bus.Params) *int64 { return &p.ChangesMaxBytes }},
	{"dead-letters-max-bytes", contract.StreamDeadLetters, func(p *bus.Params) *int64 { return &p.DeadLettersMaxBytes }},
	{"status-max-bytes", statusStream, func(p *bus.Params) *int64 { return &p.StatusMaxBytes }},
}

// statusStream is the stream of the bucket.
const statusStream = "KV_" + contract.BucketStatus

// Values of --deliver.
const (
	deliverAll = "all"
	deliverNew = "new"
)

func (f *flags) add(fs *pflag.FlagSet) {
	f.set = fs
	defaults := bus.DefaultParams()
	fs.BoolVar(&f.dryRun, "dry-run", false, "bootstrap: print the changes without making them")
	fs.IntVar(&f.replicas, "replicas", defaults.Replicas, "copies of each stream: 1, 3 or 5")
	fs.BoolVar(&f.denyPurge, "deny-purge", false, "deny deletes and purges on the public histories; irreversible")
	fs.StringSliceVar(&f.placementTags, "placement-tags", nil, "servers must have these tags to hold the streams")
	for i, a := range ages {
		fs.DurationVar(&f.ages[i], a.flag, *a.of(&defaults), "maximum age of messages in "+a.stream)
	}
	for i, s := range sizes {
		f.sizes[i].Quantity = *resource.NewQuantity(*s.of(&defaults), resource.BinarySI)
		fs.Var(&f.sizes[i], s.flag, "maximum size of "+s.stream+", for example 10Gi")
	}
	fs.StringVar(&f.filter, "filter", "", "consumer: subject of the events, may contain wildcards")
	fs.StringVar(&f.deliver, "deliver", deliverNew, "consumer: first event to deliver, all or new")
	fs.DurationVar(&f.ackWait, "ack-wait", 30*time.Second, "consumer: time to acknowledge an event before it is redelivered")
	fs.IntVar(&f.pending, "max-ack-pending", 100, "consumer: maximum number of unacknowledged events")
}

// check rejects values that no server accepts.
func (f *flags) check() error {
	var errs []error
	if !slices.Contains([]int{1, 3, 5}, f.replicas) {
		errs = append(errs, fmt.Errorf("--replicas must be 1, 3 or 5, is %d", f.replicas))
	}
	for i, a := range ages {
		if f.ages[i] < time.Minute {
			errs = append(errs, fmt.Errorf("--%s must be at least a minute, is %s", a.flag, f.ages[i]))
		}
	}
	for i, s := range sizes {
		if f.sizes[i].Value() < 1<<20 {
			errs = append(errs, fmt.Errorf("--%s must be at least 1Mi, is %s", s.flag, f.sizes[i].String()))
		}
	}
	return errors.Join(errs...)
}

// given returns the parameters that the command line sets; all others are zero, which
// [bus.Verify] accepts with any value.
func (f *flags) given() bus.Params {
	var p bus.Params
	if f.set.Changed("replicas") {
		p.Replicas = f.replicas
	}
	p.Production = f.denyPurge
	for i, a := range ages {
		if f.set.Changed(a.flag) {
			*a.of(&p) = f.ages[i]
		}
	}
	for i, s := range sizes {
		if f.set.Changed(s.flag) {
			*s.of(&p) = f.sizes[i].Value()
		}
	}
	return p
}

// desiredParams completes the given parameters with those of the existing assets, and then with the defaults.
func desiredParams(given bus.Params, found map[string]jetstream.StreamConfig) bus.Params {
	p, defaults := given, bus.DefaultParams()
	for _, a := range ages {
		age := a.of(&p)
		*age = cmp.Or(*age, found[a.stream].MaxAge, *a.of(&defaults))
	}
	for _, s := range sizes {
		size := s.of(&p)
		*size = cmp.Or(*size, max(0, found[s.stream].MaxBytes), *s.of(&defaults))
	}
	p.Replicas = cmp.Or(p.Replicas, found[contract.StreamLifecycle].Replicas, defaults.Replicas)
	p.Production = p.Production || found[contract.StreamLifecycle].DenyPurge
	return p
}
