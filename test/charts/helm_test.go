package charts

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
)

const (
	chartsDir = "../../deploy/charts"
	// library is the chart with the templates that the charts of the services share.
	library = "service-library"
	// system is the namespace of the golden renders.
	system = "flotilla-system"
)

var update = flag.Bool("update", false, "update the golden files of the renders")

var services = goprogram.MustServices("../..")

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	// The services' releases wait for pods and leases most of the time, so all are checked in parallel.
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(len(services))); err != nil {
			panic(err)
		}
	}
	var err error
	if binaries, err = os.MkdirTemp("", "flotilla-charts-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := cluster.Main(m, cluster.Options{Nodes: 1, CRDs: []string{"testdata/crd"}})
	if err := os.RemoveAll(binaries); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// binaries is the directory of the built services.
var binaries string

// helm runs the pinned helm and returns its output.
func helm(t testing.TB, args ...string) (string, error) {
	t.Helper()
	tools, err := controlplane.Find()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tools.Path("helm"), args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("helm %s: %w: %s%s", strings.Join(args, " "), err, out.String(), problems.String())
	}
	return out.String(), nil
}

// must runs helm and fails the test on an error.
func must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := helm(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func chart(name string) string { return filepath.Join(chartsDir, name) }

// render returns the output of helm template for a release with the name of the chart.
func render(t testing.TB, name string, args ...string) string {
	t.Helper()
	return template(t, name, chart(name), args...)
}

// templates has the output of helm template by its arguments: many tests read the same renders.
var templates = struct {
	sync.Mutex
	output map[string]string
}{output: map[string]string{}}

// template is render with the directory or the package of a chart.
func template(t testing.TB, name, path string, args ...string) string {
	t.Helper()
	args = append([]string{"template", name, path, "--namespace", system}, args...)
	key := strings.Join(args, "\n")
	templates.Lock()
	defer templates.Unlock()
	if _, found := templates.output[key]; !found {
		templates.output[key] = must(t, args...)
	}
	return templates.output[key]
}

// pack packages a chart and returns the path of the package.
func pack(t testing.TB, name string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, append([]string{"package", chart(name), "--destination", dir}, args...)...)
	packed, err := filepath.Glob(filepath.Join(dir, name+"-*.tgz"))
	if err != nil || len(packed) != 1 {
		t.Fatalf("packed %v, %v", packed, err)
	}
	return packed[0]
}

// renders returns the cases of testdata/values, by service and case.
func renders(t testing.TB) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	out := map[string]map[string]string{}
	for _, file := range files {
		name, caseName, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), ".")
		if out[name] == nil {
			out[name] = map[string]string{}
		}
		out[name][caseName] = file
	}
	return out
}

// each runs a test for every case.
func each(t *testing.T, test func(t *testing.T, service, caseName, values string)) {
	t.Helper()
	for service, cases := range renders(t) {
		for caseName, values := range cases {
			t.Run(service+"/"+caseName, func(t *testing.T) { test(t, service, caseName, values) })
		}
	}
}

// documents parses the documents of a render.
func documents(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text)+1)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}

// find returns the document of a kind and name.
func find(t testing.TB, docs []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, doc := range docs {
		if doc.GetKind() == kind && doc.GetName() == name {
			return doc
		}
	}
	t.Fatalf("%s %s not found", kind, name)
	return nil
}
