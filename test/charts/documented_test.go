package charts

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/test/docs/commands"
	"github.com/flotilla-dev/flotilla/test/docs/markdown"
)

// documented are the pages with commands that install a service, and whether each must set the image.
var documented = map[string]bool{
	"docs/installing.md":                        true,
	"deploy/charts/superset-operator/README.md": false,
	"deploy/charts/engine-operator/README.md":   false,
	"deploy/charts/ingester/README.md":          false,
	"deploy/charts/status-aggregator/README.md": false,
}

// image is the name of the images that the pages build.
var image = map[string]string{"FLOTILLA_IMAGE_PREFIX": "registry.test/flotilla", "FLOTILLA_VERSION": "v9.9.9"}

// The documented commands render. Every container with a bus has an identity and the CA: deploy/nats has no anonymous user.
func TestDocumentedInstallationsConnect(t *testing.T) {
	buses := 0
	for page, own := range documented {
		for _, line := range installs(t, page) {
			set := settings(line)
			docs := documents(t, render(t, line.chart, set...))
			for _, c := range containers(t, docs) {
				if own && !strings.Contains(line.text, "reuse-values") && c.Image != image["FLOTILLA_IMAGE_PREFIX"]+"/"+line.chart+":"+image["FLOTILLA_VERSION"] {
					t.Errorf("%s: container %s has the image %s: %s", page, c.Name, c.Image, line.text)
				}
				if !strings.Contains(line.text, "bus.") {
					continue
				}
				url := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "NATS_URL" && e.ValueFrom != nil })
				ca := slices.Contains(c.Args, "--nats-ca=/etc/flotilla/bus-tls/ca.crt")
				buses++
				if !url || !ca {
					t.Errorf("%s: container %s has the Secret of its identity: %t, the CA: %t: %s", page, c.Name, url, ca, line.text)
				}
			}
		}
	}
	if buses < 2*4-1 {
		t.Errorf("found only %d containers with a bus: the parser is broken", buses)
	}
}

// The pages install three NATS servers, so that their command must replicate the streams: by default they have one replica.
func TestDocumentedStreamsAreReplicated(t *testing.T) {
	jobs := 0
	for _, line := range installs(t, "docs/installing.md") {
		if !strings.Contains(line.text, "bus.bootstrapJob.enabled=true") {
			continue
		}
		jobs++
		docs := documents(t, render(t, line.chart, settings(line)...))
		if job := find(t, docs, "Job", "status-aggregator-bootstrap"); !slices.Contains(containers(t, []*unstructured.Unstructured{job})[0].Args, "--replicas=3") {
			t.Errorf("the Job lacks --replicas=3: %s", line.text)
		}
	}
	if jobs == 0 {
		t.Error("docs/installing.md does not create the streams")
	}
}

// install is a documented command of helm, or only flags in a sentence.
type install struct{ chart, text string }

// installs returns the commands of a page that install or upgrade a service.
func installs(t *testing.T, file string) (out []install) {
	t.Helper()
	page := parse(t, file)
	for _, c := range commands.Of(page, map[string]bool{"helm": true}) {
		if name := chartOf(c.Text); slices.Contains(services, name) {
			out = append(out, install{name, c.Text})
		}
	}
	for _, c := range page.Code {
		if strings.HasPrefix(c.Text, "--set cluster.name") {
			name := filepath.Base(filepath.Dir(file))
			if name == "docs" {
				name = "superset-operator" // a sentence about all services
			}
			out = append(out, install{name, c.Text})
		}
	}
	return out
}

func parse(t *testing.T, file string) markdown.Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	return markdown.Parse(string(text))
}

var chartPath = regexp.MustCompile(`deploy/charts/([\w-]+)`)

func chartOf(command string) string {
	if m := chartPath.FindStringSubmatch(command); m != nil {
		return m[1]
	}
	return ""
}

// settings returns the flags --set of a command, after those that an earlier installation has.
func settings(line install) []string {
	var out []string
	if line.chart == "status-aggregator" && strings.Contains(line.text, "reuse-values") {
		out = append(out, "--set", "cluster.name=prod,bus.urlSecret.name=url,bus.tls.secretName=ca")
	}
	words := strings.Fields(os.Expand(line.text, func(name string) string { return image[name] }))
	for i, word := range words {
		if word == "--set" {
			out = append(out, word, words[i+1])
		}
	}
	return out
}

// containers returns those of the Deployment and of Jobs before an installation, which run in place of it or earlier.
func containers(t *testing.T, docs []*unstructured.Unstructured) (out []corev1.Container) {
	t.Helper()
	for _, doc := range docs {
		if hook := doc.GetAnnotations()["helm.sh/hook"]; !slices.Contains([]string{"Deployment", "Job"}, doc.GetKind()) || strings.Contains(hook, "delete") || strings.HasSuffix(doc.GetName(), "-migrate") {
			continue
		}
		raw, _, err := unstructured.NestedMap(doc.Object, "spec", "template", "spec")
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.PodSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &pod); err != nil {
			t.Fatal(err)
		}
		out = append(out, pod.Containers...)
	}
	return out
}

// docs/releasing.md packs a chart that installs the image that it builds, whose tag has the form of docker-compose.yaml.
func TestDocumentedReleaseInstallsItsImage(t *testing.T) {
	compose, err := os.ReadFile("../../docker-compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	published := regexp.MustCompile(`FLOTILLA_VERSION=(v?)\d`).FindStringSubmatch(string(compose))
	var built []string
	packed := 0
	for _, c := range parse(t, "docs/releasing.md").Code {
		if m := regexp.MustCompile(`FLOTILLA_IMAGE_PREFIX=(\S+) FLOTILLA_VERSION=(\S+) make images SERVICES=(\S+)`).FindStringSubmatch(c.Text); m != nil {
			built = append(built, fmt.Sprintf("%s/%s:%s", m[1], m[3], m[2]))
			if published == nil || strings.HasPrefix(m[2], "v") != (published[1] == "v") {
				t.Errorf("tag %s, but docker-compose.yaml has %v", m[2], published)
			}
		}
		flags, found := strings.CutPrefix(c.Text, "helm package ")
		if !found {
			continue
		}
		packed++
		name := chartOf(flags)
		docs := documents(t, template(t, name, pack(t, name, strings.Fields(flags)[1:]...)))
		for _, container := range containers(t, docs) {
			if !slices.Contains(built, container.Image) {
				t.Errorf("%s installs %s, want one of %v", c.Text, container.Image, built)
			}
		}
	}
	if packed == 0 || len(built) == 0 {
		t.Errorf("%d charts, images %v", packed, built)
	}
}

var (
	apiURL    = regexp.MustCompile(`(?m)^API=https://(\S+):(\d+)$`)
	apiSecret = regexp.MustCompile(`kubectl -n ` + system + ` get secret (\S+) `)
)

// The pages of the HTTP APIs use a host of the certificate, the port of the Service, and the CA in the Secret.
func TestDocumentedAPIHasCertificate(t *testing.T) {
	for _, service := range []string{"ingester", "status-aggregator"} {
		raw, err := os.ReadFile(filepath.Join("../../services", service, "docs/http-api.md"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(raw)
		url, named := apiURL.FindStringSubmatch(page), apiSecret.FindStringSubmatch(page)
		if url == nil || named == nil {
			t.Errorf("%s: found the URL %q and the Secret %q", service, url, named)
			continue
		}
		docs := documents(t, render(t, service, "--values", renders(t)[service]["certmanager"], "--set", "api.enabled=true,api.certificates=certManager"))
		certificate := find(t, docs, "Certificate", service+"-api")
		hosts, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
		if err != nil || !slices.Contains(hosts, url[1]) {
			t.Errorf("%s: the host %s is not in the certificate: %v, %v", service, url[1], hosts, err)
		}
		if name, _, err := unstructured.NestedString(certificate.Object, "spec", "secretName"); err != nil || name != named[1] {
			t.Errorf("%s: the page reads the Secret %s, the certificate is in %s, %v", service, named[1], name, err)
		}
		var ports corev1.Service
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, docs, "Service", service).Object, &ports); err != nil {
			t.Fatal(err)
		}
		if got := strconv.Itoa(int(ports.Spec.Ports[0].Port)); got != url[2] {
			t.Errorf("%s: the page uses port %s, the Service has %s", service, url[2], got)
		}
		for line := range strings.Lines(page) {
			if strings.Contains(line, "curl -") && !strings.Contains(line, `--cacert "$CA"`) && !strings.Contains(line, "--insecure") {
				t.Errorf("%s: no --cacert: %s", service, line)
			}
		}
	}
}

// The notes name the Secret that cert-manager writes, since kubectl flotilla does not trust its CA.
func TestNotesPassCA(t *testing.T) {
	for _, secret := range []string{"", "mine"} {
		values := map[string]string{"cluster.name": "c", "bus.url": "nats://n:1", "api.enabled": "true", "api.certificates": "certManager", "api.secretName": secret}
		notes, docs := notes(t, "status-aggregator", values)
		name, _, err := unstructured.NestedString(find(t, docs, "Certificate", "status-aggregator-api").Object, "spec", "secretName")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"get secret " + name + ` -o go-template='{{index .data "ca.crt" | base64decode}}' > status-ca.crt`,
			"FLOTILLA_STATUS_CA_FILE=status-ca.crt kubectl flotilla page\n",
		} {
			if !strings.Contains(notes, want) {
				t.Errorf("%q not in the notes:\n%s", want, notes)
			}
		}
	}
}

// notes returns the notes of a chart, and its documents. Only an installation prints notes, so another chart includes them.
func notes(t *testing.T, name string, values map[string]string) (string, []*unstructured.Unstructured) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"Chart.yaml":           "apiVersion: v2\nname: notes\nversion: 0.0.1\n",
		"templates/notes.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata:\n  text: {{ include \"flotilla.notes\" (index .Subcharts \"" + name + "\") | toJson }}\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "charts"), os.DirFS(filepath.Dir(pack(t, name)))); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		args = append(args, "--set", name+"."+key+"="+values[key])
	}
	out := template(t, "notes", dir, args...)
	var config corev1.ConfigMap
	docs := documents(t, out)
	raw, err := yaml.Marshal(find(t, docs, "ConfigMap", "notes").Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	return config.Data["text"], docs
}
