package busauth

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// Admin is a user with all permissions in the account of the streams, for the test itself.
const Admin = "admin"

// Password is the password of all users.
const Password = "secret"

// Names replace the placeholders of the files.
type Names struct {
	Cluster   string
	Namespace string // of the tool
	Tool      string // its user and its consumer
}

// Server is a NATS server with the accounts and users of deploy/nats, and [Admin].
type Server struct {
	*natstest.Server
	users map[string]*server.User

	mu         sync.Mutex
	violations []string
}

// Start runs a server whose accounts, users and permissions are those of deploy/nats.
func Start(t testing.TB, n Names, options ...natstest.Option) *Server {
	t.Helper()
	s := &Server{users: map[string]*server.User{}}
	o := load(t, n)
	o.Users = append(o.Users, &server.User{Username: Admin, Password: Password, Account: streams(t, o)})
	for _, u := range o.Users {
		s.users[u.Username] = u
	}
	options = append([]natstest.Option{func(to *server.Options) { to.Users, to.Accounts = o.Users, o.Accounts }}, options...)
	s.Server = natstest.Start(t, options...)
	s.Server.Server().SetLogger(violations{s}, false, false)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("refused: %q", s.Violations())
		}
	})
	return s
}

// As returns the URL at which the identity connects, with its password.
func (s *Server) As(identity string) string {
	return strings.Replace(s.URL(), "nats://", "nats://"+identity+":"+Password+"@", 1)
}

// Identities lists the users of deploy/nats.
func Identities(t testing.TB, n Names) []string {
	t.Helper()
	var out []string
	for _, u := range load(t, n).Users {
		out = append(out, u.Username)
	}
	return out
}

// Permissions returns the permissions that deploy/nats grants an identity, for servers that are configured differently.
func Permissions(t testing.TB, n Names, identity string) *server.Permissions {
	t.Helper()
	for _, u := range load(t, n).Users {
		if u.Username == identity {
			return u.Permissions
		}
	}
	t.Fatalf("deploy/nats has no identity %q", identity)
	return nil
}

// Violations lists the permission violations, one line of the server's log for each.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.violations...)
}

// WantNoViolations fails the test if a client exceeded its permissions.
func (s *Server) WantNoViolations(t testing.TB) {
	t.Helper()
	for _, v := range s.Violations() {
		t.Errorf("refused: %s", v)
	}
}

var (
	placeholder = regexp.MustCompile(`CLUSTER|NAMESPACE|TOOL`)
	variable    = regexp.MustCompile(`\$([A-Z_]+_PASSWORD)`)
)

// Files writes the files of deploy/nats into a new directory, with the placeholders replaced, and sets the
// environment variables that hold their passwords. It returns the directory.
func Files(t testing.TB, n Names) string {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(root(t), "deploy", "nats", "*.conf"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"CLUSTER": n.Cluster, "NAMESPACE": n.Namespace, "TOOL": n.Tool}
	dir := t.TempDir()
	for _, f := range sources {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text := placeholder.ReplaceAllStringFunc(string(raw), func(p string) string { return names[p] })
		for _, v := range variable.FindAllStringSubmatch(text, -1) {
			t.Setenv(v[1], Password)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load reads deploy/nats with the configuration parser of the server.
func load(t testing.TB, n Names) *server.Options {
	t.Helper()
	o, err := server.ProcessConfigFile(filepath.Join(Files(t, n), "authorization.conf"))
	if err != nil {
		t.Fatalf("read the permissions: %v", err)
	}
	return o
}

// streams returns the account that owns the streams.
func streams(t testing.TB, o *server.Options) *server.Account {
	t.Helper()
	for _, u := range o.Users {
		if u.Username == "bootstrap" {
			return u.Account
		}
	}
	t.Fatal("deploy/nats has no user that creates the streams")
	return nil
}

// root returns the root of the repository that the test runs in.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "modules.txt")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("not a checkout: modules.txt not found in any parent directory")
		}
		dir = filepath.Dir(dir)
	}
}

// violations collects the permission violations in the server's log.
type violations struct{ s *Server }

func (violations) Noticef(string, ...any) {}
func (violations) Warnf(string, ...any)   {}
func (violations) Fatalf(string, ...any)  {}
func (violations) Debugf(string, ...any)  {}
func (violations) Tracef(string, ...any)  {}

func (v violations) Errorf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !strings.Contains(line, "Violation") {
		return
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	v.s.violations = append(v.s.violations, line)
}
