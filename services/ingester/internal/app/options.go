package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Options are the ingester's own settings.
type Options struct {
	// MySQLDSN says where objects are stored.
	MySQLDSN string
	// ConcurrentReconciles is how many objects of a kind are handled at the same time;
	// the map overrides it by kind.
	ConcurrentReconciles    int
	ConcurrentReconcilesMap map[string]int
	// RequeuePeriod is the longest pause before a failure is tried again; the map
	// overrides it by kind.
	RequeuePeriod    time.Duration
	RequeuePeriodMap map[string]string
	// EvictImmutableKinds evicts every object of a kind that is immutable by definition.
	EvictImmutableKinds bool
}

const (
	defaultWorkers       = 256
	defaultRequeuePeriod = 30 * time.Second
)

func (o *Options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MySQLDSN, "mysql-dsn", "", "user:password@tcp(host:3306)/database of MySQL or MariaDB (also MYSQL_DSN)")
	fs.IntVar(&o.ConcurrentReconciles, "concurrent-reconciles", defaultWorkers, "objects of one kind that are handled at the same time")
	fs.StringToIntVar(&o.ConcurrentReconcilesMap, "concurrent-reconciles-map", nil, "the same for single kinds, for example PipelineRun=10,Model=3")
	fs.DurationVar(&o.RequeuePeriod, "requeue-period", defaultRequeuePeriod, "longest pause before a failure is tried again")
	fs.StringToStringVar(&o.RequeuePeriodMap, "requeue-period-map", nil, "the same for single kinds, for example Model=10s")
	fs.BoolVar(&o.EvictImmutableKinds, "evict-immutable-kinds", false, "evict every object of an immutable kind (Model) after its first sync, also without the annotation")
}

// Validate checks the settings. Each error names its flag.
func (o *Options) Validate(service.Options) error {
	if o.MySQLDSN == "" {
		return errors.New("--mysql-dsn (FLOTILLA_MYSQL_DSN or MYSQL_DSN) is required")
	}
	db, err := database.Open(o.MySQLDSN)
	if err != nil {
		return fmt.Errorf("--mysql-dsn (FLOTILLA_MYSQL_DSN or MYSQL_DSN) %w", err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	if o.ConcurrentReconciles < 1 {
		return fmt.Errorf("--concurrent-reconciles must be at least 1, is %d", o.ConcurrentReconciles)
	}
	if o.RequeuePeriod <= 0 {
		return fmt.Errorf("--requeue-period must be positive, is %s", o.RequeuePeriod)
	}
	return o.validateMaps()
}

func (o *Options) validateMaps() error {
	kinds, err := registry.Load()
	if err != nil {
		return err
	}
	for kind, n := range o.ConcurrentReconcilesMap {
		if _, ok := kinds.Lookup(kind); !ok {
			return fmt.Errorf("--concurrent-reconciles-map names %q, which is no registered kind", kind)
		}
		if n < 1 {
			return fmt.Errorf("--concurrent-reconciles-map must be at least 1 for %s, is %d", kind, n)
		}
	}
	for kind, text := range o.RequeuePeriodMap {
		if _, ok := kinds.Lookup(kind); !ok {
			return fmt.Errorf("--requeue-period-map names %q, which is no registered kind", kind)
		}
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return fmt.Errorf("--requeue-period-map needs a positive duration for %s, has %q", kind, text)
		}
	}
	return nil
}

func (o *Options) workers(kind string) int {
	if n, ok := o.ConcurrentReconcilesMap[kind]; ok {
		return n
	}
	return o.ConcurrentReconciles
}

func (o *Options) requeuePeriod(kind string) time.Duration {
	if d, err := time.ParseDuration(o.RequeuePeriodMap[kind]); err == nil && d > 0 {
		return d
	}
	return o.RequeuePeriod
}
