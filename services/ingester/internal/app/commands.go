package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/accept"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/backfill"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/installation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/purge"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/removefinalizers"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/restore"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

// operatorCommand is a command for operators.
type operatorCommand interface {
	AddFlags(fs *pflag.FlagSet)
	Run(ctx context.Context, env command.Env, out io.Writer) error
}

// removeFinalizers is the command that requires no MySQL: its settings may name Secrets and files that were deleted already.
const removeFinalizers = "remove-finalizers"

func (o *Options) commands() map[string]service.Command {
	return map[string]service.Command{
		"migrate":        {Help: "show, apply or verify the database schema: migrate status|up|verify", Run: o.migrate},
		"verify":         o.command("compare the cluster with MySQL, and with --repair repair the differences", &verify.Command{}),
		"backfill":       o.command("rewrite indexed columns or contents of rows at a limited rate", &backfill.Command{}),
		"purge":          o.command("delete rows that were closed long ago", &purge.Command{}),
		"restore":        o.command("restore objects from MySQL to the cluster", &restore.Command{}),
		"checkpoint":     o.command("compare the checkpoints of database and cluster, and with --accept continue with an older database", &accept.Command{}),
		removeFinalizers: o.command("remove the finalizer from all objects, before the ingester is uninstalled", &removefinalizers.Command{}),
	}
}

func (o *Options) command(help string, t operatorCommand) service.Command {
	return service.Command{Help: help, Flags: t.AddFlags, Run: func(ctx context.Context, s service.Options, args []string) (err error) {
		if len(args) > 0 {
			return fmt.Errorf("unexpected argument %q, see --help", args[0])
		}
		env, err := o.environment(ctx, s, t)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, env.Close()) }()
		return t.Run(ctx, env, os.Stdout)
	}}
}

// connect connects a command to the bus, under the identity of the ingester.
func connect(s service.Options, log logr.Logger) (*bus.Conn, error) {
	if s.ClusterName == "" {
		return nil, errors.New("--cluster-name (FLOTILLA_CLUSTER_NAME) is required with --nats-url")
	}
	cfg, err := s.Bus("ingester", log.V(1))
	if err != nil {
		return nil, err
	}
	return bus.Connect(cfg)
}

// environment connects a command to the database and the cluster. Purge and backfill
// need no cluster; removing finalizers works while MySQL is unavailable.
func (o *Options) environment(ctx context.Context, s service.Options, t operatorCommand) (command.Env, error) {
	config := command.Config{
		MySQL: o.MySQL, Outbox: s.NATSURL != "", Clock: clock.RealClock{}, Log: logr.FromContextOrDiscard(ctx),
		Namespaces: s.WatchNamespaces, LeaseNamespace: s.LeaderElectionNamespace, Cluster: s.ClusterName,
		EvictImmutableKinds: o.EvictImmutableKinds,
	}
	if s.NATSURL != "" {
		config.Bus = func() (*bus.Conn, error) { return connect(s, config.Log) }
	}
	remove, removing := t.(*removefinalizers.Command)
	config.Optional = removing
	if removing && remove.KeepRows {
		config.MySQL = database.Settings{} // it writes no rows, so the state of the database does not matter
	}
	if needsCluster(t) {
		cfg, err := s.RESTConfig()
		if err != nil {
			return command.Env{}, err
		}
		scheme := runtime.NewScheme()
		if err := clientgoscheme.AddToScheme(scheme); err != nil {
			return command.Env{}, fmt.Errorf("build scheme: %w", err)
		}
		if config.Client, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
			return command.Env{}, fmt.Errorf("create client: %w", err)
		}
	}
	env, err := command.Open(ctx, config)
	if removing && errors.Is(err, installation.ErrOtherCluster) {
		err = fmt.Errorf("%w; --keep-rows removes the finalizers without storing the last states", err)
	}
	return env, err
}

func needsCluster(t operatorCommand) bool {
	switch t.(type) {
	case *purge.Command, *backfill.Command:
		return false
	}
	return true
}
