package proxy

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// Proxy is the handler of a local status page.
type Proxy struct {
	host   string // own address, host:port
	secret string
	next   http.Handler
}

// New returns a proxy with the address host ("127.0.0.1:41234"), protected by secret. It sends requests to upstream through
// transport, which adds the credentials.
func New(host, secret string, upstream *url.URL, transport http.RoundTripper) *Proxy {
	return &Proxy{host: host, secret: secret, next: &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream) // the aggregator's own name as Host, too
			for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer", "Proxy-Authorization"} {
				r.Out.Header.Del(name)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Del("Set-Cookie")
			r.Header.Set("Referrer-Policy", "same-origin")
			r.Header.Set("X-Frame-Options", "DENY")
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			writeError(w, http.StatusBadGateway, "Unavailable", fmt.Sprintf("The status aggregator cannot be reached: %v", err))
		},
		FlushInterval: -1, // events must not be delayed
	}}
}

// URL returns the address of the page; it contains the secret.
func (p *Proxy) URL() string { return p.origin() + "/" + p.secret + statusapi.PathPage }

func (p *Proxy) origin() string { return "http://" + p.host }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason := p.reject(r); reason != "" {
		writeError(w, http.StatusForbidden, "Forbidden", reason)
		return
	}
	secret, path, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if p.isSecret(secret) {
		p.forward(w, r, "/"+path)
		return
	}
	if p.fromPage(r.Referer()) {
		to := url.URL{Path: "/" + p.secret + r.URL.Path, RawQuery: r.URL.RawQuery}
		w.Header().Set("Referrer-Policy", "same-origin")
		http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
		return
	}
	writeError(w, http.StatusForbidden, "Forbidden", "Open the address that kubectl flotilla page printed: it contains the key.")
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, path string) {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		writeError(w, http.StatusBadRequest, "BadRequest", "The path is invalid.")
		return
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = decoded, path
	p.next.ServeHTTP(w, r)
}

// reject returns why a request is not from the page; it is empty for a valid request.
func (p *Proxy) reject(r *http.Request) string {
	_, port, _ := strings.Cut(p.host, ":")
	switch {
	case r.Host != p.host && r.Host != "localhost:"+port:
		return "The Host is not the address of the proxy."
	case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+r.Host:
		return "The request comes from another origin."
	case isCrossOrigin(r.Header):
		return "The request comes from another origin."
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return "Only GET and HEAD are allowed."
	}
	return ""
}

// isCrossOrigin reports whether the browser marks the request as one of another origin. A navigation to the page is
// allowed: it requires the address, and the other origin cannot read the response.
func isCrossOrigin(h http.Header) bool {
	site := h.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && h.Get("Sec-Fetch-Mode") != "navigate"
}

func (p *Proxy) isSecret(secret string) bool {
	return subtle.ConstantTimeCompare([]byte(secret), []byte(p.secret)) == 1
}

// fromPage reports whether a Referer is the URL of the page, including the secret.
func (p *Proxy) fromPage(referer string) bool {
	u, err := url.Parse(referer)
	if err != nil || u.Scheme+"://"+u.Host != p.origin() && u.Hostname() != "localhost" {
		return false
	}
	secret, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	return p.isSecret(secret)
}
