package scripts_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

// stubConfig loads superset_config.py like superset.config of the product.
const stubConfig = `import importlib.util, os
spec = importlib.util.spec_from_file_location("superset_config", os.environ["SUPERSET_CONFIG_PATH"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
DEFAULT_FEATURE_FLAGS = {"EMBEDDED_SUPERSET": False}
GLOBAL_ASYNC_QUERIES_JWT_SECRET = "test-secret-change-me"
GUEST_TOKEN_JWT_SECRET = "test-guest-secret-change-me"
globals().update(vars(module))
`

// install writes the files of an image, and returns their directory.
func install(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// python returns the command that runs a file of an image.
func python(t *testing.T, dir, file string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{filepath.Join(dir, file)}, args...)...)
	cmd.Env = []string{
		"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "PYTHONPATH=" + dir, "SUPERSET_CONFIG_PATH=" + filepath.Join(dir, "superset_config.py"),
		prefix + "SECRET_KEY=a-secret-key", prefix + "DB_PASS=a-password", prefix + "SERVES_MCP=true",
	}
	return cmd
}

// preflight runs the program in an image with the given files, and returns the last line of its output and the whole
// output.
func preflight(t *testing.T, files map[string]string) (last, output string) {
	t.Helper()
	files["preflight.py"], files["superset_preflight_servers.py"] = scripts.Preflight(), scripts.PreflightServers()
	out, err := python(t, install(t, files), "preflight.py", "once").CombinedOutput()
	if err == nil {
		t.Errorf("the preflight succeeded:\n%s", out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], string(out)
}

// stubProgram is a program that does nothing.
const stubProgram = "#!/bin/sh\n"

type preflightCase struct {
	files map[string]string
	want  string
}

// checkPreflight runs cases with a superset_config.py in an image that contains Superset.
func checkPreflight(t *testing.T, cases map[string]preflightCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.files["superset_config.py"] != "" {
				tc.files["bin/superset"], tc.files["superset/__init__.py"], tc.files["superset/config.py"] = stubProgram, "", stubConfig
			}
			last, output := preflight(t, tc.files)
			if last != "preflight: "+tc.want {
				t.Errorf("got %s\nwant preflight: %s", last, tc.want)
			}
			for _, secret := range []string{"a-secret-key", "a-password"} {
				if strings.Contains(output, secret) {
					t.Errorf("a secret is in the output:\n%s", output)
				}
			}
		})
	}
}

func TestPreflightNamesCauseInImage(t *testing.T) {
	checkPreflight(t, map[string]preflightCase{
		"another product": {map[string]string{"bin/superset": stubProgram}, "the image contains no Superset: correct spec.image"},
		"the module alone": {
			map[string]string{"superset/__init__.py": "", "superset/config.py": ""}, "the image contains no Superset: correct spec.image",
		},
		"an incomplete image": {
			map[string]string{"bin/superset": stubProgram, "superset/__init__.py": "import nowhere\n"},
			"Superset cannot be imported: ModuleNotFoundError: No module named 'nowhere'. Correct spec.image",
		},
	})
}

func TestPreflightNamesCauseInConfiguration(t *testing.T) {
	checkPreflight(t, map[string]preflightCase{
		"an error in the configuration": {
			map[string]string{"superset_config.py": "A = 1\nB = missing\n"},
			"superset_config.py fails: line 2: NameError: name 'missing' is not defined. Correct spec.config or the image",
		},
		"a configuration that exits": {
			map[string]string{"superset_config.py": "import sys\nsys.exit('stop')\n"},
			"superset_config.py fails: line 2: SystemExit: stop. Correct spec.config or the image",
		},
		"a syntax error in the configuration of a component": {
			map[string]string{
				"superset_config.py": "A = 1\n", "spec.celeryWorker.config": "B = missing\n", "spec.webServer.config": "C = 1\nD = = a-secret-key\n",
			},
			"spec.webServer.config fails: line 2: SyntaxError: invalid syntax. Correct spec.webServer.config",
		},
		"an error with secrets": {
			map[string]string{"superset_config.py": "raise ValueError('a-secret-key, postgresql://user:a-password@host/db')\n"},
			"superset_config.py fails: line 1: ValueError: ***, postgresql://user:***@host/db. Correct spec.config or the image",
		},
	})
}

func TestPreflightNamesCauseInFeatures(t *testing.T) {
	checkPreflight(t, map[string]preflightCase{
		"asynchronous queries without a secret": {
			map[string]string{"superset_config.py": "FEATURE_FLAGS = {'GLOBAL_ASYNC_QUERIES': True}\n"},
			"the feature GLOBAL_ASYNC_QUERIES requires a GLOBAL_ASYNC_QUERIES_JWT_SECRET of 32 or more bytes: set it in spec.config, or disable the feature",
		},
		"embedding with the published secret": {
			map[string]string{"superset_config.py": "FEATURE_FLAGS = {'EMBEDDED_SUPERSET': True}\n"},
			"the feature EMBEDDED_SUPERSET has the published GUEST_TOKEN_JWT_SECRET, with which anyone can sign in as a guest: set it in spec.config, or disable the feature",
		},
		"features with their secrets, and an image without the MCP server": {
			map[string]string{"superset_config.py": strings.Join([]string{
				"FEATURE_FLAGS = {'GLOBAL_ASYNC_QUERIES': True, 'EMBEDDED_SUPERSET': True}",
				"GUEST_TOKEN_JWT_SECRET = 'own'", "GLOBAL_ASYNC_QUERIES_JWT_SECRET = 32 * 'x'", "",
			}, "\n")},
			"the image contains no MCP server, which Superset has since 6.1: remove spec.mcpServer or correct spec.image",
		},
	})
}

// stubSecrets are modules of an image whose metastore stores one value in each encrypted table. No key decrypts it.
var stubSecrets = map[string]string{
	"superset/__init__.py": "",
	"superset/app.py": `import contextlib
class App:
    config = {"SECRET_KEY": "current", "PREVIOUS_SECRET_KEY": "previous"}
    app_context = contextlib.nullcontext
create_app = App
`,
	"superset/extensions.py": `import contextlib
class Rows(list):
    all = list.copy
class Engine:
    dialect = None
    def connect(self):
        return contextlib.nullcontext(self)
    def execute(self, query):
        return Rows([(1, b"unreadable")])
class db:
    engine = Engine()
    class metadata:
        tables = {}
`,
	"superset/utils/__init__.py": "",
	"superset/utils/encrypt.py": `class EncryptedFieldFactory:
    created_by_enc_field_factory = staticmethod(lambda kind: False)
`,
	"sqlalchemy_utils/__init__.py": "", "sqlalchemy_utils/types/__init__.py": "", "sqlalchemy_utils/types/encrypted/__init__.py": "",
	"sqlalchemy_utils/types/encrypted/encrypted_type.py": `class StringEncryptedType:
    engine = None
    def load_dialect_impl(self, dialect):
        return self
    def process_result_value(self, value, dialect):
        raise ValueError
`,
	"flask_appbuilder.py": `import types
from sqlalchemy_utils.types.encrypted.encrypted_type import StringEncryptedType
def table(name):
    table = types.SimpleNamespace(name=name, primary_key=types.SimpleNamespace(columns=["id"]))
    table.columns = [types.SimpleNamespace(name="secret", type=StringEncryptedType(), table=table)]
    return table
class Model:
    class metadata:
        tables = {name: table(name) for name in ("database_user_oauth2_tokens", "dbs", "ssh_tunnels")}
`,
	"sqlalchemy.py": `import types
class Query:
    def order_by(self, *columns):
        return self
def select(*columns):
    return Query()
def type_coerce(column, kind):
    return types.SimpleNamespace(label=lambda name: name)
def inspect(connection):
    return types.SimpleNamespace(
        get_table_names=lambda: ["database_user_oauth2_tokens", "dbs", "ssh_tunnels"], get_columns=lambda name: [{"name": "secret"}],
    )
`,
}

// TestKeysIgnoreSecretsThatCloneReplaces checks that secrets which no key decrypts only reject what keeps them.
func TestKeysIgnoreSecretsThatCloneReplaces(t *testing.T) {
	files := maps.Clone(stubSecrets)
	files["secret-keys.py"] = scripts.SecretKeys()
	dir := install(t, files)
	for _, env := range [][]string{nil, {prefix + "ROTATE=true"}} {
		cmd := python(t, dir, "secret-keys.py", "check", filepath.Join(dir, "report"))
		cmd.Env = append(cmd.Env, env...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "3 of 3 stored secrets") {
			t.Errorf("%v: %v\n%s", env, err, out)
		}
		report := filepath.Join(t.TempDir(), "report")
		cmd = python(t, dir, "secret-keys.py", "check", report)
		cmd.Env = append(cmd.Env, append(env, prefix+"CLONES=true")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v, before a clone: %v\n%s", env, err, out)
			continue
		}
		counts, err := os.ReadFile(report)
		if err != nil || string(counts) != `{"columns": 0, "values": 0, "previousKey": 0}` {
			t.Errorf("%v, before a clone: counts %s (%v)", env, counts, err)
		}
	}
}
