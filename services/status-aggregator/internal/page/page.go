package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var files embed.FS

// root is the directory of the files.
const root = "assets"

// policy allows the page to load its own files and to call its own server only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handlers returns a handler for each path pattern of the page.
func Handlers() map[string]http.Handler {
	index := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, "index.html") })
	return map[string]http.Handler{
		"/{$}": index,
		"/assets/{file}": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			serve(w, r, r.PathValue("file"))
		}),
	}
}

func serve(w http.ResponseWriter, r *http.Request, name string) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	body, err := files.ReadFile(root + "/" + name)
	contentType, known := types[path.Ext(name)]
	if err != nil || !known {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256(body)
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-cache") // revalidated, with 304 until a release changes the file
	header.Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}
