package benchlab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
)

// prepareOperator gives the operator its account and permissions, so that nothing is left to do but to start it.
func (l *Lab) prepareOperator(ctx context.Context) (err error) {
	l.operatorKubeconfig, err = l.identity(ctx, l.bench.Operator)
	return err
}

// StartOperator starts the operator in a late scenario, again after StopOperator, and returns the moment of its start.
// The flags are given to it besides those of the bench.
func (l *Lab) StartOperator(flags ...string) (time.Time, error) {
	port, err := freeport.One()
	if err != nil {
		return time.Time{}, err
	}
	begin := time.Now()
	l.operator, err = l.launchService(l.bench.Operator, l.operatorKubeconfig, port, flags)
	return begin, err
}

// StopOperator ends the operator in good order.
func (l *Lab) StopOperator(ctx context.Context) error {
	operator := l.operator
	operator.dismissed.Store(true)
	l.operator = nil
	return operator.stop(ctx)
}

// RunOperator runs a command of the operator, such as "migrate up", to its end.
func (l *Lab) RunOperator(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, l.binary(l.bench.Operator.Name), args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", l.bench.Operator.Name, args[0], err, out)
	}
	return nil
}

// Metric sums a metric of the operator over all its labels.
func (l *Lab) Metric(ctx context.Context, name string) (float64, error) {
	return l.metrics.Metric(ctx, l.bench.Operator.Name, name)
}

// Database starts a MySQL server of the lab's own. The caller removes it.
func (l *Lab) Database(ctx context.Context) (*mysqlserver.Server, error) {
	port, err := freeport.One()
	if err != nil {
		return nil, err
	}
	return mysqlserver.Start(ctx, mysqlserver.Config{
		Name: filepath.Base(l.builder.dir), Dir: filepath.Join(l.dir, "mysql"), Port: port, Marker: l.marker, Say: Note,
	})
}

// CPU is the processor time that processes have used since their start, in seconds, by name: the operator's, that of each
// part of the control plane, and of other processes that are given by their process id.
func (l *Lab) CPU(others map[string]int) (map[string]float64, error) {
	components, err := l.cluster.Components()
	if err != nil {
		return nil, err
	}
	pids := map[string]int{}
	for _, one := range components {
		pids[one.Name] = one.PID
	}
	if l.operator != nil {
		pids[l.bench.Operator.Name] = l.operator.pid
	}
	for name, pid := range others {
		pids[name] = pid
	}
	out := map[string]float64{}
	var errs []error
	for name, pid := range pids {
		seconds, err := cpuSeconds(pid)
		out[name] = seconds
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// Bus starts a NATS server of the lab's own and returns its URL.
func (l *Lab) Bus() (string, error) { return l.startNATS() }
