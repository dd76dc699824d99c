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

// asked returns a request with the given X-Firebolt-Engine headers.
func asked(path string, engine ...string) headers {
	h := headers{":method": {"POST"}, ":path": {path}, ":authority": {"gateway.example"}}
	if len(engine) > 0 {
		h["x-firebolt-engine"] = engine
	}
	return h
}

func TestScriptRoutesRequestToNamedEngine(t *testing.T) {
	long := strings.Repeat("a", 63)
	cases := map[string]struct {
		in           headers
		engine, path string
	}{
		"by the header":                               {asked("/", "etl"), "etl", "/"},
		"by the parameter":                            {asked("/?engine=etl"), "etl", "/"},
		"by both":                                     {asked("/?engine=etl", "etl"), "etl", "/"},
		"a label of one digit":                        {asked("/", "7"), "7", "/"},
		"a label of 63":                               {asked("/", long), long, "/"},
		"dashes inside":                               {asked("/", "a--b-c"), "a--b-c", "/"},
		"a label that looks like punycode":            {asked("/", "xn--bcher-kva"), "xn--bcher-kva", "/"},
		"the parameter is encoded":                    {asked("/?engine=%65t%6C"), "etl", "/"},
		"its name is encoded":                         {asked("/?%65ngine=etl"), "etl", "/"},
		"other parameters stay as they were":          {asked("/q?a=%20+&engine=etl&b"), "etl", "/q?a=%20+&b"},
		"first of several":                            {asked("/q?engine=etl&a=1&b=2"), "etl", "/q?a=1&b=2"},
		"last of several":                             {asked("/q?a=1&b=2&engine=etl"), "etl", "/q?a=1&b=2"},
		"empty parameters stay":                       {asked("/q?&&engine=etl"), "etl", "/q?&"},
		"a path without it is not touched":            {asked("/q?a=%zz&&=&?", "etl"), "etl", "/q?a=%zz&&=&?"},
		"other names that hold the word":              {asked("/?engines=x&myengine=y&engine2=z", "etl"), "etl", "/?engines=x&myengine=y&engine2=z"},
		"the name is case-sensitive":                  {asked("/?Engine=x&ENGINE=y", "etl"), "etl", "/?Engine=x&ENGINE=y"},
		"a value that holds the word":                 {asked("/?a=engine=x", "etl"), "etl", "/?a=engine=x"},
		"another parameter's broken name":             {asked("/?%zz=1&engine=etl"), "etl", "/?%zz=1"},
		"a second question mark":                      {asked("/?a=?engine=x&engine=etl"), "etl", "/?a=?engine=x"},
		"a name before the question mark":             {asked("/engine=x", "etl"), "etl", "/engine=x"},
		"the client's authority counts for nothing":   {headers{":method": {"POST"}, ":path": {"/"}, ":authority": {"169.254.169.254"}, "x-firebolt-engine": {"etl"}}, "etl", "/"},
		"a name that ends like a Service is only one": {asked("/", "etl-service"), "etl-service", "/"},
	}
	e := newFiltering(t, instance("main", "data"))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := e.request(t, tc.in)
			if got.Status != "" {
				t.Fatalf("refused: %s", got.Body)
			}
			want := tc.in.clone()
			want[":authority"] = []string{tc.engine + suffix}
			if _, there := want[":path"]; there {
				want[":path"] = []string{tc.path}
			}
			if diff := cmp.Diff(want, got.Headers); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScriptRejectsOtherRequests(t *testing.T) {
	cases := map[string]struct {
		in     headers
		reason string
	}{
		"no name":                                  {asked("/"), "no engine"},
		"no name among parameters":                 {asked("/?a=b"), "no engine"},
		"an empty header":                          {asked("/", ""), "header"},
		"an empty parameter":                       {asked("/?engine="), "parameter"},
		"a parameter without a value":              {asked("/?engine"), "parameter"},
		"an empty parameter with a header":         {asked("/?engine=", "etl"), "parameter"},
		"header and parameter differ":              {asked("/?engine=a", "b"), "different"},
		"the same parameter twice":                 {asked("/?engine=a&engine=a"), "more than once"},
		"two parameters":                           {asked("/?engine=a&engine=b"), "more than once"},
		"two parameters, one encoded":              {asked("/?engine=a&%65%6e%67%69%6e%65=b"), "more than once"},
		"two parameters with a header":             {asked("/?engine=a&engine=a", "a"), "more than once"},
		"two headers":                              {asked("/", "a", "b"), "header"},
		"the same header twice":                    {asked("/", "a", "a"), "header"},
		"a list in one header":                     {asked("/", "a,b"), "header"},
		"capitals":                                 {asked("/", "Etl"), "header"},
		"capitals, encoded":                        {asked("/?engine=%45tl"), "parameter"},
		"64 letters":                               {asked("/", strings.Repeat("a", 64)), "header"},
		"a leading dash":                           {asked("/", "-a"), "header"},
		"a trailing dash":                          {asked("/", "a-"), "header"},
		"an underscore":                            {asked("/", "a_b"), "header"},
		"another host":                             {asked("/", "evil.example.com"), "header"},
		"another host, encoded":                    {asked("/?engine=evil%2Eexample%2Ecom"), "parameter"},
		"another namespace":                        {asked("/", "etl-service.other.svc.cluster.local:3473#"), "header"},
		"another port":                             {asked("/", "etl:9901"), "header"},
		"a user before a host":                     {asked("/", "a@evil"), "header"},
		"a path in the name":                       {asked("/", "a/../b"), "header"},
		"an IPv4 address":                          {asked("/", "127.0.0.1"), "header"},
		"an IPv6 address":                          {asked("/", "[::1]"), "header"},
		"a line break, encoded":                    {asked("/?engine=a%0d%0aHost:%20evil"), "parameter"},
		"a trailing line break, encoded":           {asked("/?engine=a%0a"), "parameter"},
		"a zero byte":                              {asked("/", "a\x00b"), "header"},
		"a zero byte, encoded":                     {asked("/?engine=a%00"), "parameter"},
		"double encoding":                          {asked("/?engine=%2565tl"), "parameter"},
		"a truncated encoding":                     {asked("/?engine=a%6"), "parameter"},
		"a percent sign":                           {asked("/?engine=%"), "parameter"},
		"a nested encoding":                        {asked("/?engine=%2%355"), "parameter"},
		"no hexadecimal digits":                    {asked("/?engine=%zzetl"), "parameter"},
		"a space":                                  {asked("/?engine=a+b"), "parameter"},
		"a parameter inside the name":              {asked("/?engine=a%26engine=b"), "parameter"},
		"an equals sign":                           {asked("/?engine==a"), "parameter"},
		"a fragment":                               {asked("/?engine=a#b"), "parameter"},
		"a semicolon":                              {asked("/?engine=a;engine=b"), "parameter"},
		"non-ASCII letters":                        {asked("/", "büro"), "header"},
		"homoglyphs":                               {asked("/", "еtl"), "header"},
		"an overlong encoding of a letter":         {asked("/?engine=%C1%A1"), "parameter"},
		"a Lua pattern":                            {asked("/", "%a+"), "header"},
		"an invalid header with a valid parameter": {asked("/?engine=a", "A"), "header"},
	}
	e := newFiltering(t, instance("main", "data"))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := e.request(t, tc.in)
			if got.Status == "400" && illegal(tc.in.first(":path"), tc.in["x-firebolt-engine"]) {
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
	in := asked("/", "etl")
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
		for piece := range strings.SplitSeq(query, "&") {
			key, value, _ := strings.Cut(piece, "=")
			if plain, err := url.QueryUnescape(key); err != nil || plain != "engine" {
				kept = append(kept, piece)
				continue
			}
			plain, err := url.QueryUnescape(value)
			if err != nil {
				return "", path
			}
			values = append(values, plain)
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
	if rest := strings.Join(kept, "&"); rest != "" {
		return engines[0] + suffix, before + "?" + rest
	}
	return engines[0] + suffix, before
}

// illegal reports whether Envoy may reject the request, with any status, before a filter sees it.
func illegal(path string, header []string) bool {
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
	in := asked(path, header...)
	got := e.request(t, in)
	if got.Status != "" && illegal(path, header) {
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
	f.Fuzz(func(t *testing.T, path, header string, given bool) {
		var values []string
		if given {
			values = []string{header}
		}
		check(t, e, path, values)
	})
}

// TestRandomRequestsReachEnginesOnly combines significant pieces into random requests.
func TestRandomRequestsReachEnginesOnly(t *testing.T) {
	pieces := []string{
		"engine", "engine=", "%65ngine=", "=", "&", "?", "/", "etl", "etl", "etl", "a", "b-1", "%61", "%", "%2", "%25", "%00",
		"+", ".", ":", "@", "#", ",", ";", " ", "\x00", "-", "A", "é", strings.Repeat("x", 31), "%zz", "\xff",
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same requests in every run
	word := func(most int) string {
		var out strings.Builder
		for range random.IntN(most) {
			out.WriteString(pieces[random.IntN(len(pieces))])
		}
		return out.String()
	}
	e := newFiltering(t, instance("main", "data"))
	through := 0
	for range 6_000 {
		path := "/" + word(3) + "?" + word(7)
		if random.IntN(2) == 0 {
			path = "/?" + word(2) + "&engine=" + word(3)
		}
		var header []string
		for range random.IntN(3) {
			header = append(header, word(3))
		}
		if check(t, e, path, header) {
			through++
		}
	}
	if through < 150 || through > 4_500 {
		t.Errorf("got %d of 6000 requests accepted, want a mixture of valid and invalid ones", through)
	}
}
