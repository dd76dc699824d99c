package scripts_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

// stubSuperset is a stub of Superset's command. Like the command, it prompts for a password that is not an
// argument, and reports the result only in its output.
const stubSuperset = `#!/usr/bin/env python3
import getpass, json, os, sys
log, users = os.environ["LOG"], json.loads(os.environ["USERS"])
args = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
words = [a for a in sys.argv[1:] if not a.startswith("--")]
with open(log, "a") as f:
    f.write(" ".join(words) + "\n")
if words == ["fab", "create-admin"]:
    password = getpass.getpass("Password: ")
    if password != getpass.getpass("Repeat for confirmation: "):
        sys.exit("Error: The two entered values do not match.")
    if os.environ.get("BROKEN") == "raises":
        sys.exit(1)
    print("Recognized Database Authentications.")
    if any(args["username"].lower() == u["username"].lower() or args["email"] == u["email"] for u in users):
        print("Error! User already exists " + args["username"])
    elif os.environ.get("BROKEN") == "says so":
        print("Error! No user created an error occurred")
    else:
        with open(log + ".created", "w") as f:
            json.dump({**args, "password": password, "argv": sys.argv}, f)
        print("Admin User " + args["username"] + " created.")
elif words == ["fab", "list-users"]:
    for u in users:
        print("username:%s | email:%s | role:[Admin]" % (u["username"], u["email"]))
elif words != ["init"]:
    sys.exit("unexpected " + str(words))
`

// admin runs the script with existing users. It returns the commands that ran, the arguments of the created
// administrator, and the output.
func admin(t *testing.T, shell []string, users, broken string) (commands string, created map[string]any, output string, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "superset"), []byte(stubSuperset), 0o700); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	args := append(append([]string{}, shell...), "-c", scripts.InitWithAdmin()+"echo after\n")
	cmd := exec.CommandContext(t.Context(), "setsid", append([]string{"--wait"}, args...)...)
	cmd.Env = []string{
		"PATH=" + dir + ":" + os.Getenv("PATH"), "LOG=" + log, "USERS=" + users, "BROKEN=" + broken, "PYTHONUTF8=1",
		prefix + "ADMIN_USERNAME=-it's $HOME", prefix + "ADMIN_PASSWORD=p\"a'$s `id`\\ü", prefix + "ADMIN_FIRST_NAME=First",
		prefix + "ADMIN_LAST_NAME=O'Last", prefix + "ADMIN_EMAIL=it@example.com",
	}
	out, err := cmd.CombinedOutput()
	done, readErr := os.ReadFile(log)
	if readErr != nil {
		t.Fatalf("%v\n%s", readErr, out)
	}
	if text, readErr := os.ReadFile(log + ".created"); readErr == nil {
		if err := json.Unmarshal(text, &created); err != nil {
			t.Fatal(err)
		}
	}
	return string(done), created, string(out), err
}

func TestInitCreatesAdminWithoutPasswordArgument(t *testing.T) {
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			commands, created, output, err := admin(t, shell, "[]", "")
			if err != nil || !strings.HasSuffix(output, "created.\nafter\n") || commands != "init\nfab create-admin\n" {
				t.Fatalf("%v after %q:\n%s", err, commands, output)
			}
			argv := created["argv"].([]any)
			for _, arg := range argv {
				if strings.Contains(arg.(string), "p\"a") {
					t.Errorf("the password is an argument: %q", argv)
				}
			}
			delete(created, "argv")
			want := map[string]any{
				"username": "-it's $HOME", "password": "p\"a'$s `id`\\ü", "firstname": "First", "lastname": "O'Last", "email": "it@example.com",
			}
			if diff := cmp.Diff(want, created); diff != "" {
				t.Errorf("the admin differs (-want +got):\n%s", diff)
			}
			if strings.Contains(output, "p\"a") {
				t.Errorf("the output holds the password:\n%s", output)
			}
		})
	}
}

func TestW25InitReportsFailedAdminCreation(t *testing.T) {
	cases := map[string]struct {
		users, broken string
		fails         bool
		want          string
	}{
		"an existing admin":                      {users: `[{"username": "-it's $HOME", "email": "it@example.com"}]`, want: "after"},
		"an existing admin in another case":      {users: `[{"username": "-IT's $home", "email": "x@example.com"}]`, want: "after"},
		"a command that fails":                   {users: "[]", broken: "raises", fails: true},
		"a command that only prints its failure": {users: "[]", broken: "says so", fails: true, want: "No user created"},
		"another user with the e-mail address":   {users: `[{"username": "bob", "email": "it@example.com"}]`, fails: true, want: "another user has the e-mail address"},
	}
	for name, shell := range shells {
		for what, tc := range cases {
			t.Run(name+"/"+what, func(t *testing.T) {
				_, created, output, err := admin(t, shell, tc.users, tc.broken)
				if (err != nil) != tc.fails || !strings.Contains(output, tc.want) || strings.Contains(output, "after") == tc.fails {
					t.Errorf("%v:\n%s", err, output)
				}
				if created != nil {
					t.Errorf("created %v", created)
				}
			})
		}
	}
}
