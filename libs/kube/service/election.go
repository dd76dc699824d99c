package service

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Election configures the leader election. A failover takes LeaseDuration, plus up to
// 2.2 times RetryPeriod, from the leader's last renewal.
type Election struct {
	// LeaseDuration is the time without a renewal after which a standby becomes the leader, in whole seconds.
	LeaseDuration time.Duration
	// RenewDeadline is the time without a successful renewal after which a leader exits.
	RenewDeadline time.Duration
	// RetryPeriod is the interval between attempts to renew, or to become the leader.
	RetryPeriod time.Duration
}

// DefaultElection has the usual durations of controllers.
var DefaultElection = Election{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}

const (
	leaseDurationFlag = "leader-election-lease-duration"
	renewDeadlineFlag = "leader-election-renew-deadline"
	retryPeriodFlag   = "leader-election-retry-period"
)

func (e *Election) addFlags(fs *pflag.FlagSet, defaults Election) {
	if defaults == (Election{}) {
		defaults = DefaultElection
	}
	fs.DurationVar(&e.LeaseDuration, leaseDurationFlag, defaults.LeaseDuration, "time without a renewal after which another replica becomes the leader, in whole seconds")
	fs.DurationVar(&e.RenewDeadline, renewDeadlineFlag, defaults.RenewDeadline, "time without a renewal after which the leader exits")
	fs.DurationVar(&e.RetryPeriod, retryPeriodFlag, defaults.RetryPeriod, "interval between attempts to acquire or renew the Lease")
}

// validate rejects durations with which two processes would lead at the same time, or a
// leader would exit after one failed request.
func (e Election) validate() error {
	var errs []error
	if e.RetryPeriod <= 0 {
		errs = append(errs, settingError(retryPeriodFlag, "must be positive, got %s", e.RetryPeriod))
	}
	if minimum := max(2*e.RetryPeriod, time.Second); e.RenewDeadline < minimum {
		errs = append(errs, settingError(renewDeadlineFlag, "must be at least %s, twice --%s, got %s", minimum, retryPeriodFlag, e.RenewDeadline))
	}
	if minimum := e.RenewDeadline + e.RetryPeriod; e.LeaseDuration < minimum {
		errs = append(errs, settingError(leaseDurationFlag, "must be at least %s, --%s and --%s together, got %s",
			minimum, renewDeadlineFlag, retryPeriodFlag, e.LeaseDuration))
	}
	if e.LeaseDuration%time.Second != 0 {
		errs = append(errs, settingError(leaseDurationFlag, "must be whole seconds, as the Lease stores them, got %s", e.LeaseDuration))
	}
	return errors.Join(errs...)
}

func (e Election) apply(o *ctrl.Options) {
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = new(e.LeaseDuration), new(e.RenewDeadline), new(e.RetryPeriod)
}
