package sweep

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Options are the settings of the sweep.
type Options struct {
	// Interval between two sweeps; 0 disables them. Candidates are examined nevertheless.
	Interval time.Duration
	// DryRun logs which rows would be closed, and closes none.
	DryRun bool
}

const defaultInterval = 10 * time.Minute

// AddFlags adds the flags with their defaults.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.DurationVar(&o.Interval, "sweep-interval", defaultInterval, "interval between two sweeps for rows whose object no longer exists; 0 disables them")
	f.BoolVar(&o.DryRun, "sweep-dry-run", false, "log the rows that a sweep would close, and close none")
}

// Validate checks the flags. Each error names its flag.
func (o *Options) Validate() error {
	if o.Interval < 0 {
		return fmt.Errorf("--sweep-interval must not be negative, got %s", o.Interval)
	}
	return nil
}
