package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// controller holds the declarations of a package below internal/controller, without tests.
type controller struct {
	dir    string
	names  map[string]bool     // top-level functions, types, constants and variables; methods and fields of Config as Type.Name
	uses   map[string]bool     // expressions of two identifiers, such as package.Name
	params map[string][]string // parameter types of top-level functions
}

// required are the names that every controller declares, or uses from package steps. isStale may be a method.
var required = []string{
	"Reconciler", "Config", "New", "Reconciler.SetupWithManager", "Reconciler.Reconcile", "Reconciler.reconcileDelete", "isStale",
	"steps.RequeueStale",
}

// inSteps are the names that controllers with several reconcile steps declare. The controller of the ingester executes
// one action, which package decide chooses.
var inSteps = []string{"Reconciler.steps", "reconcileState"}

const oneAction = "services/ingester/internal/controller/objectsync"

// finalizers matches names that only controllers with a finalizer use. They declare ensureFinalizer.
var finalizers = regexp.MustCompile(`\.[A-Z]\w*Finalizer$`)

// replaced maps disallowed names of roles to the names to use.
var replaced = map[string]string{
	"Controller": "Reconciler", "Dependencies": "Config", "Settings": "Options", "pass": "reconcileState",
	"matters": "shouldReconcile", "relevant": "shouldReconcile", "clean": "reconcileDelete", "gone": "reconcileDelete",
	"protect": "ensureFinalizer", "Register": "SetupWithManager", "errOutdated": "errStale",
	"requeueStale": "steps.RequeueStale",
	"Watcher":      "Reader", "Live": "APIReader", "LiveUID": "GetUncachedUID",
}

// pauses matches names of durations that lack the cause of the wait.
var pauses = regexp.MustCompile(`^(retry[A-Z]\w*|\w+Retry|\w+Pause|first\w+|longest\w+|last(Retry|Wait|Pause))$`)

// rolePackages maps disallowed package names to the names to use for their role.
var rolePackages = map[string]string{
	"naming": "names", "report": "observation or statusevents", "watch": "observe", "setup": "app", "aggregator": "app",
	"admit": "validation", "inject": "webhook", "operate": "command", "cmdutil": "command", "sync": "objectsync", "silence": "liveness",
	"live": "readmodel", "takeover": "adopt or legacyschema", "release": "removefinalizers",
}

// operatorPackages are the packages of operators that write a status and publish observations.
var operatorPackages = []string{
	"app", "metrics", "names", "observation", "observe", "render", "resolve", "status", "statusevents",
}

func controllers(t *testing.T) []controller {
	t.Helper()
	dirs, err := filepath.Glob("../../services/*/internal/controller/*")
	if err != nil {
		t.Fatal(err)
	}
	var out []controller
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			out = append(out, declarations(t, dir))
		}
	}
	if len(out) < 6 {
		t.Fatalf("found %d controllers: the search is broken", len(out))
	}
	return out
}

func declarations(t *testing.T, dir string) controller {
	t.Helper()
	c := controller{strings.TrimPrefix(filepath.ToSlash(dir), "../../"), map[string]bool{}, map[string]bool{}, map[string][]string{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		c.add(f)
		c.addUses(f)
	}
	return c
}

func (c controller) add(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				c.names[d.Name.Name] = true
				for _, p := range d.Type.Params.List {
					if id, ok := p.Type.(*ast.Ident); ok {
						c.params[d.Name.Name] = append(c.params[d.Name.Name], id.Name)
					}
				}
				continue
			}
			receiver := d.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if id, ok := receiver.(*ast.Ident); ok {
				c.names[id.Name+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					c.names[s.Name.Name] = true
					if fields, ok := s.Type.(*ast.StructType); ok && s.Name.Name == "Config" {
						c.addFields(fields)
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						c.names[name.Name] = true
					}
				}
			}
		}
	}
}

func (c controller) addUses(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				c.uses[id.Name+"."+s.Sel.Name] = true
			}
		}
		return true
	})
}

func (c controller) addFields(config *ast.StructType) {
	for _, field := range config.Fields.List {
		for _, name := range field.Names {
			c.names["Config."+name.Name] = true
		}
	}
}

// problems returns the deviations of a controller from the roles.
func (c controller) problems() []string {
	var out []string
	names := required
	if c.dir != oneAction {
		names = slices.Concat(required, inSteps)
	}
	for _, name := range names {
		if !c.names[name] && !c.names["Reconciler."+name] && !c.uses[name] {
			out = append(out, "has no "+name)
		}
	}
	for use := range c.uses {
		if finalizers.MatchString(use) && !c.names["Reconciler.ensureFinalizer"] {
			out = append(out, "uses "+use+" and declares no Reconciler.ensureFinalizer")
		}
	}
	if c.names["New"] && !slices.Contains(c.params["New"], "Config") {
		out = append(out, "New takes no Config")
	}
	for name := range c.names {
		bare := name[strings.LastIndex(name, ".")+1:]
		if use, ok := replaced[bare]; ok {
			out = append(out, name+" is called "+use)
		}
		if pauses.MatchString(name) {
			out = append(out, name+" is called requeue<Cause>, minBackoff or maxBackoff")
		}
	}
	slices.Sort(out)
	return out
}

func TestControllersDefineRoles(t *testing.T) {
	for _, c := range controllers(t) {
		for _, problem := range c.problems() {
			t.Errorf("%s: %s (test/architecture/roles_test.go)", c.dir, problem)
		}
	}
}

func TestServicesNamePackagesByRole(t *testing.T) {
	dirs, err := filepath.Glob("../../services/*")
	listed := 0
	for _, kind := range kinds(t) {
		if kind == "service" {
			listed++
		}
	}
	if err != nil || len(dirs) != listed || listed < 4 {
		t.Fatalf("services: %v, %v", dirs, err)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "internal", "app")); err != nil {
			t.Errorf("%s: its wiring is not in internal/app", filepath.Base(dir))
		}
		err := filepath.WalkDir(filepath.Join(dir, "internal"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if err == nil && d.IsDir() && rolePackages[d.Name()] != "" {
				t.Errorf("%s is called %s", path, rolePackages[d.Name()])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOperatorsHaveRolePackages(t *testing.T) {
	dirs, err := filepath.Glob("../../services/*-operator")
	if err != nil || len(dirs) < 2 {
		t.Fatalf("operators: %v, %v", dirs, err)
	}
	for _, dir := range dirs {
		for _, name := range operatorPackages {
			if _, err := os.Stat(filepath.Join(dir, "internal", name)); err != nil {
				t.Errorf("%s: %v", filepath.Base(dir), err)
			}
		}
	}
}

func TestV1alpha1HasNoAlias(t *testing.T) {
	root := "../../"
	for _, f := range sources(t) {
		if !strings.HasPrefix(f.path, "services/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), root+f.path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		own := prefix + strings.Join(strings.SplitN(f.path, "/", 3)[:2], "/") + "/api/v1alpha1"
		for _, spec := range parsed.Imports {
			if strings.Trim(spec.Path.Value, `"`) == own && spec.Name != nil && spec.Name.Name != "." {
				t.Errorf("%s imports its api as %s", f.path, spec.Name.Name)
			}
		}
	}
}

func TestMissingRolesAreReported(t *testing.T) {
	dir := t.TempDir()
	text := `package thing
type Controller struct{}
type Reconciler struct{}
func (r *Reconciler) SetupWithManager() {}
func (r *Reconciler) Reconcile() {}
func (r *Reconciler) steps() {}
func (r *Reconciler) addFinalizer() { use(v1alpha1.ThingFinalizer) }
func (r *Reconciler) matters() {}
func New(d int) *Reconciler { return nil }
type reconcileState struct{}
const requeueStale, firstRetry = 1, 2
type Config struct{ Watcher int }
`
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Config.Watcher is called Reader", "Controller is called Reconciler", "New takes no Config", "Reconciler.matters is called shouldReconcile",
		"firstRetry is called requeue<Cause>, minBackoff or maxBackoff", "has no Reconciler.reconcileDelete", "has no isStale",
		"has no steps.RequeueStale", "requeueStale is called steps.RequeueStale",
		"uses v1alpha1.ThingFinalizer and declares no Reconciler.ensureFinalizer",
	}
	if got := declarations(t, dir).problems(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
