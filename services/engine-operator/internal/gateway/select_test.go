package gateway_test

import (
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const suffix = "-service.data.svc.cluster.local:3473"

// request returns a request with the given X-Firebolt-Engine headers.
func request(path string, engine ...string) headers {
	h := headers{":method": {"POST"}, ":path": {path}, ":authority": {"gateway.example"}}
	if len(engine) > 0 {
		h["x-firebolt-engine"] = engine
	}
	return h
}

func TestScriptRoutesRequestToNamedEngine(t *testing.T) {
	longName := strings.Repeat("a", 63)
	cases := map[string]struct {
		in           headers
		engine, path string
	}{
		"by the header":                               {request("/", "etl"), "etl", "/"},
		"by the parameter":                            {request("/?engine=etl"), "etl", "/"},
		"by both":                                     {request("/?engine=etl", "etl"), "etl", "/"},
		"a label of one digit":                        {request("/", "7"), "7", "/"},
		"a label of 63":                               {request("/", longName), longName, "/"},
		"dashes inside":                               {request("/", "a--b-c"), "a--b-c", "/"},
		"a label that looks like punycode":            {request("/", "xn--bcher-kva"), "xn--bcher-kva", "/"},
		"the parameter is encoded":                    {request("/?engine=%65t%6C"), "etl", "/"},
		"its name is encoded":                         {request("/?%65ngine=etl"), "etl", "/"},
		"other parameters stay as they were":          {request("/q?a=%20+&engine=etl&b"), "etl", "/q?a=%20+&b"},
		"first of several":                            {request("/q?engine=etl&a=1&b=2"), "etl", "/q?a=1&b=2"},
		"last of several":                             {request("/q?a=1&b=2&engine=etl"), "etl", "/q?a=1&b=2"},
		"empty parameters stay":                       {request("/q?&&engine=etl"), "etl", "/q?&"},
		"a path without it is not touched":            {request("/q?a=%zz&&=&?", "etl"), "etl", "/q?a=%zz&&=&?"},
		"other names that hold the word":              {request("/?engines=x&myengine=y&engine2=z", "etl"), "etl", "/?engines=x&myengine=y&engine2=z"},
		"the name is case-sensitive":                  {request("/?Engine=x&ENGINE=y", "etl"), "etl", "/?Engine=x&ENGINE=y"},
		"a value that holds the word":                 {request("/?a=engine=x", "etl"), "etl", "/?a=engine=x"},
		"another parameter's broken name":             {request("/?%zz=1&engine=etl"), "etl", "/?%zz=1"},
		"a second question mark":                      {request("/?a=?engine=x&engine=etl"), "etl", "/?a=?engine=x"},
		"a name before the question mark":             {request("/engine=x", "etl"), "etl", "/engine=x"},
		"the client's authority is ignored":           {headers{":method": {"POST"}, ":path": {"/"}, ":authority": {"169.254.169.254"}, "x-firebolt-engine": {"etl"}}, "etl", "/"},
		"a name that ends like a Service is only one": {request("/", "etl-service"), "etl-service", "/"},
	}
	e := newFiltering(t, instance("main", "data"))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := e.request(t, tc.in)
			if got.Status != "" {
				t.Fatalf("rejected: %s", got.Body)
			}
			want := tc.in.clone()
			want[":authority"] = []string{tc.engine + suffix}
			if _, ok := want[":path"]; ok {
				want[":path"] = []string{tc.path}
			}
			if diff := cmp.Diff(want, got.Headers); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

// rejection is a request with a part of the response.
type rejection struct {
	in     headers
	reason string
}

func TestScriptRejectsAmbiguousEngine(t *testing.T) {
	checkRejected(t, map[string]rejection{
		"no name":                          {request("/"), "no engine"},
		"no name among parameters":         {request("/?a=b"), "no engine"},
		"an empty header":                  {request("/", ""), "header"},
		"an empty parameter":               {request("/?engine="), "parameter"},
		"a parameter without a value":      {request("/?engine"), "parameter"},
		"an empty parameter with a header": {request("/?engine=", "etl"), "parameter"},
		"header and parameter differ":      {request("/?engine=a", "b"), "different"},
		"the same parameter twice":         {request("/?engine=a&engine=a"), "more than once"},
		"two parameters":                   {request("/?engine=a&engine=b"), "more than once"},
		"two parameters, one encoded":      {request("/?engine=a&%65%6e%67%69%6e%65=b"), "more than once"},
		"two parameters with a header":     {request("/?engine=a&engine=a", "a"), "more than once"},
		"two headers":                      {request("/", "a", "b"), "header"},
		"the same header twice":            {request("/", "a", "a"), "header"},
		"a list in one header":             {request("/", "a,b"), "header"},
	})
}

func TestScriptRejectsInvalidEngineName(t *testing.T) {
	checkRejected(t, map[string]rejection{
		"capitals":                                 {request("/", "Etl"), "header"},
		"capitals, encoded":                        {request("/?engine=%45tl"), "parameter"},
		"64 letters":                               {request("/", strings.Repeat("a", 64)), "header"},
		"a leading dash":                           {request("/", "-a"), "header"},
		"a trailing dash":                          {request("/", "a-"), "header"},
		"an underscore":                            {request("/", "a_b"), "header"},
		"another host":                             {request("/", "evil.example.com"), "header"},
		"another host, encoded":                    {request("/?engine=evil%2Eexample%2Ecom"), "parameter"},
		"another namespace":                        {request("/", "etl-service.other.svc.cluster.local:3473#"), "header"},
		"another port":                             {request("/", "etl:9901"), "header"},
		"a user before a host":                     {request("/", "a@evil"), "header"},
		"a path in the name":                       {request("/", "a/../b"), "header"},
		"an IPv4 address":                          {request("/", "127.0.0.1"), "header"},
		"an IPv6 address":                          {request("/", "[::1]"), "header"},
		"a line break, encoded":                    {request("/?engine=a%0d%0aHost:%20evil"), "parameter"},
		"a trailing line break, encoded":           {request("/?engine=a%0a"), "parameter"},
		"a zero byte":                              {request("/", "a\x00b"), "header"},
		"a zero byte, encoded":                     {request("/?engine=a%00"), "parameter"},
		"double encoding":                          {request("/?engine=%2565tl"), "parameter"},
		"a truncated encoding":                     {request("/?engine=a%6"), "parameter"},
		"a percent sign":                           {request("/?engine=%"), "parameter"},
		"a nested encoding":                        {request("/?engine=%2%355"), "parameter"},
		"no hexadecimal digits":                    {request("/?engine=%zzetl"), "parameter"},
		"a space":                                  {request("/?engine=a+b"), "parameter"},
		"a parameter inside the name":              {request("/?engine=a%26engine=b"), "parameter"},
		"an equals sign":                           {request("/?engine==a"), "parameter"},
		"a fragment":                               {request("/?engine=a#b"), "parameter"},
		"a semicolon":                              {request("/?engine=a;engine=b"), "parameter"},
		"non-ASCII letters":                        {request("/", "büro"), "header"},
		"homoglyphs":                               {request("/", "еtl"), "header"},
		"an overlong encoding of a letter":         {request("/?engine=%C1%A1"), "parameter"},
		"a Lua pattern":                            {request("/", "%a+"), "header"},
		"an invalid header with a valid parameter": {request("/?engine=a", "A"), "header"},
	})
}

func checkRejected(t *testing.T, cases map[string]rejection) {
	t.Helper()
	e := newFiltering(t, instance("main", "data"))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := e.request(t, tc.in)
			if got.Status == "400" && isInvalid(tc.in.first(":path"), tc.in["x-firebolt-engine"]) {
				return // Envoy itself rejects it
			}
			if got.Status != "400" || !strings.Contains(got.Body, tc.reason) || !strings.HasPrefix(got.Type, "text/plain") {
				t.Errorf("response = %q %q %q, want 400 about %q in plain text", got.Status, got.Type, got.Body, tc.reason)
			}
			if diff := cmp.Diff(tc.in.clone(), got.Headers); diff != "" {
				t.Errorf("a rejected request was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScriptIgnoresRetryAndTimeoutHeaders(t *testing.T) {
	in := request("/", "etl")
	for _, name := range []string{"x-envoy-retry-on", "x-envoy-max-retries", "X-Envoy-Upstream-Rq-Timeout-Ms", "x-envoy-retriable-status-codes"} {
		in[name] = []string{"5xx"}
	}
	got := newFiltering(t, instance("main", "data")).request(t, in).Headers
	want := headers{":method": {"POST"}, ":path": {"/"}, ":authority": {"etl" + suffix}, "x-firebolt-engine": {"etl"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

var authority = regexp.MustCompile(`\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?-service\.data\.svc\.cluster\.local:3473\z`)

// expected computes the expected result of a request with another algorithm than the script's.
// An empty authority means a rejection.
func expected(path string, header []string) (wantAuthority, wantPath string) {
	before, query, marked := strings.Cut(path, "?")
	var kept, values []string
	if marked {
		for param := range strings.SplitSeq(query, "&") {
			key, value, _ := strings.Cut(param, "=")
			if decoded, err := url.QueryUnescape(key); err != nil || decoded != "engine" {
				kept = append(kept, param)
				continue
			}
			decoded, err := url.QueryUnescape(value)
			if err != nil {
				return "", path
			}
			values = append(values, decoded)
		}
	}
	if len(values) > 1 || len(header) > 1 || len(values)+len(header) == 0 {
		return "", path
	}
	engines := append(append([]string{}, values...), header...)
	if engines[0] != engines[len(engines)-1] || !authority.MatchString(engines[0]+suffix) {
		return "", path
	}
	if len(values) == 0 {
		return engines[0] + suffix, path
	}
	if keptQuery := strings.Join(kept, "&"); keptQuery != "" {
		return engines[0] + suffix, before + "?" + keptQuery
	}
	return engines[0] + suffix, before
}

// isInvalid reports whether Envoy may reject the request, with any status, before a filter sees it.
func isInvalid(path string, header []string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	return strings.ContainsFunc(strings.Join(header, ""), control) ||
		strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == '#' || r >= 0x7f }) || path == ""
}

// check runs a request and compares the outcome. It reports whether the request was forwarded.
func check(t *testing.T, e *filtering, path string, header []string) bool {
	t.Helper()
	for i, v := range header {
		header[i] = strings.Trim(v, " \t") // not part of a header's value
	}
	path = strings.TrimRight(path, " ") // nor of the path
	in := request(path, header...)
	got := e.request(t, in)
	if got.Status != "" && isInvalid(path, header) {
		return false
	}
	wantAuthority, wantPath := expected(path, header)
	if got.Status != "" {
		if wantAuthority != "" || got.Status != "400" {
			t.Fatalf("path %q, header %q: got response %s, want it at %s", path, header, got.Status, wantAuthority)
		}
		if diff := cmp.Diff(in.clone(), got.Headers); diff != "" {
			t.Fatalf("path %q, header %q: rejected and changed (-want +got):\n%s", path, header, diff)
		}
		return false
	}
	if a := got.Headers.first(":authority"); !authority.MatchString(a) || a != wantAuthority {
		t.Fatalf("path %q, header %q: went to %q, want %q", path, header, a, wantAuthority)
	}
	if p := got.Headers.first(":path"); p != wantPath {
		t.Fatalf("path %q, header %q: path %q, want %q", path, header, p, wantPath)
	}
	return true
}

func FuzzAuthority(f *testing.F) {
	f.Add("/?engine=etl", "", false)
	f.Add("/?engine=e%74l&x", "etl", true)
	f.Add("/?engine=a&engine=b", "a.b:1", true)
	e := newFiltering(f, instance("main", "data"))
	f.Fuzz(func(t *testing.T, path, header string, hasHeader bool) {
		var values []string
		if hasHeader {
			values = []string{header}
		}
		check(t, e, path, values)
	})
}

// TestRandomRequestsReachEnginesOnly combines significant pieces into random requests.
func TestRandomRequestsReachEnginesOnly(t *testing.T) {
	params := []string{
		"engine", "engine=", "%65ngine=", "=", "&", "?", "/", "etl", "etl", "etl", "a", "b-1", "%61", "%", "%2", "%25", "%00",
		"+", ".", ":", "@", "#", ",", ";", " ", "\x00", "-", "A", "é", strings.Repeat("x", 31), "%zz", "\xff",
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same requests in every run
	randomText := func(most int) string {
		var out strings.Builder
		for range random.IntN(most) {
			out.WriteString(params[random.IntN(len(params))])
		}
		return out.String()
	}
	e := newFiltering(t, instance("main", "data"))
	through := 0
	for range 6_000 {
		path := "/" + randomText(3) + "?" + randomText(7)
		if random.IntN(2) == 0 {
			path = "/?" + randomText(2) + "&engine=" + randomText(3)
		}
		var header []string
		for range random.IntN(3) {
			header = append(header, randomText(3))
		}
		if check(t, e, path, header) {
			through++
		}
	}
	if through < 150 || through > 4_500 {
		t.Errorf("got %d of 6000 requests accepted, want a mixture of valid and invalid ones", through)
	}
}
