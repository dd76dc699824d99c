package app

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/purge"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// TestSetupDisablesIngesterWithoutMySQL has no manager: Setup must not add a runnable.
func TestSetupDisablesIngesterWithoutMySQL(t *testing.T) {
	for name, args := range map[string][]string{"no settings": nil, "switched off": {dsn, "--enable-metadata-storage=false"}} {
		t.Run(name, func(t *testing.T) {
			var logged []string
			rt := &service.Runtime{Log: funcr.New(func(_, text string) { logged = append(logged, text) }, funcr.Options{})}
			if err := Setup(t.Context(), rt, parse(t, args...), prometheus.NewRegistry()); err != nil {
				t.Fatal(err)
			}
			if len(logged) != 1 || !strings.Contains(logged[0], "Metadata storage not configured, skipping ingester controller setup") {
				t.Errorf("logged %q", logged)
			}
		})
	}
}

// added is a manager that keeps what is added to it.
type added struct {
	ctrl.Manager
	runnables []manager.Runnable
}

func (a *added) Add(r manager.Runnable) error {
	a.runnables = append(a.runnables, r)
	return nil
}

func TestPurgeIsLimitedToWatchedNamespaces(t *testing.T) {
	mgr := &added{}
	rt := &service.Runtime{Manager: mgr, Options: service.Options{WatchNamespaces: []string{"one"}}}
	i := &ingester{Runtime: rt, o: parse(t, "--retention=24h"), store: &mysql.Storage{}}
	if err := i.addPurge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sweeper := mgr.runnables[0].(*purge.Sweeper); sweeper.Retention != 24*time.Hour || !slices.Equal(sweeper.Namespaces, []string{"one"}) {
		t.Errorf("the retention is %s in %v, want 24h in one", sweeper.Retention, sweeper.Namespaces)
	}
}

func TestCommandsRequireMySQL(t *testing.T) {
	err := parse(t).migrate(t.Context(), service.Options{}, []string{"status"})
	if err == nil || !strings.Contains(err.Error(), "set --mysql-dsn (MYSQL_DSN), or --mysql-host") {
		t.Errorf("error %v", err)
	}
}

// pageCommand matches a command of the program in a code span or a code block.
var pageCommand = regexp.MustCompile("(?m)(?:`|&& |^(?:\\$ )?)ingester ([a-z-]+)([^`\n|&;#]*)")

// TestPagesUseFlagsOfCommands parses the commands on the pages as the program does, with the flags of that command only.
func TestPagesUseFlagsOfCommands(t *testing.T) {
	for _, page := range []string{"disaster", "migrations", "operations", "guide", "sweep"} {
		text, err := os.ReadFile("../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		found := pageCommand.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("docs/%s.md has no command: the parser is broken", page)
		}
		for _, m := range found {
			if err := parseCommand(m[1], strings.Fields(m[2])); err != nil {
				t.Errorf("docs/%s.md: ingester %s%s: %v", page, m[1], m[2], err)
			}
		}
	}
}

func parseCommand(name string, args []string) error {
	command, ok := Spec().Commands[name]
	if !ok {
		return errors.New("unknown command")
	}
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	Spec().Flags(fs)
	if command.Flags != nil {
		command.Flags(fs)
	}
	fs.Usage = func() {}
	if err := fs.Parse(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	known := fs.NArg() == 0
	if name == "migrate" {
		known = fs.NArg() == 1 && slices.Contains([]string{"status", "up", "verify"}, fs.Arg(0))
	}
	if !known {
		return errors.New("unexpected arguments")
	}
	return nil
}
