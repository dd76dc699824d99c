package maintenance

import (
	_ "embed"
	"fmt"
	"html"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Keys of the ConfigMap and the paths from which nginx reads the files.
const (
	mainKey   = "nginx.conf"
	serverKey = "default.conf"
	pageKey   = "index.html"

	mainPath   = "/etc/nginx/nginx.conf"
	serverPath = "/etc/nginx/conf.d/default.conf"
	pagePath   = "/usr/share/nginx/html/index.html"
)

const (
	defaultTitle   = "Scheduled Maintenance"
	defaultMessage = "Apache Superset is being upgraded and will be back soon."
)

//go:embed nginx.conf
var mainConf string

//go:embed page.html
var pageHTML string

// serverConf serves the page on an address. Redirects are relative, since the address that users see is that of an
// Ingress or a gateway. A form that a user submits while Superset is unavailable gets the same answer as any other
// request: its size is not limited, and the page replaces the error that nginx returns for a POST to a file. Load
// balancers that check the path of the web server's readiness probe, such as those of GKE, require a 200 there.
const serverConf = `server {
    listen %s;
    root /usr/share/nginx/html;
    absolute_redirect off;
    client_max_body_size 0;
    add_header Cache-Control "no-store" always;

    location = / {
        try_files /index.html =404;
        error_page 405 =200 /;
    }
    location ~ /health$ {
        default_type text/plain;
        return 200 "OK\n";
    }
    location / {
        return 302 /;
    }
}
`

// ConfigMap renders the files of the page; nil for a page of the user's own image.
func ConfigMap(p *resolve.Page) *corev1.ConfigMap {
	if p.Custom {
		return nil
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.ConfigName, Labels: p.Labels},
		Data:       files(p),
	}
}

func files(p *resolve.Page) map[string]string {
	return map[string]string{mainKey: mainConf, serverKey: fmt.Sprintf(serverConf, listen(p)), pageKey: document(p)}
}

// listen returns the parameters of the directive: all addresses of IPv4, or of both families.
func listen(p *resolve.Page) string {
	if p.IPv6 {
		return fmt.Sprintf("[::]:%d ipv6only=off", p.Port)
	}
	return fmt.Sprint(p.Port)
}

// document returns the page itself: the user's body unchanged, or the operator's with
// title and message as text.
func document(p *resolve.Page) string {
	if body := textOrDefault(p.Body, ""); body != "" {
		return body
	}
	return strings.NewReplacer(
		"{{title}}", html.EscapeString(textOrDefault(p.Title, defaultTitle)),
		"{{message}}", html.EscapeString(textOrDefault(p.Message, defaultMessage)),
	).Replace(pageHTML)
}

// textOrDefault returns the text, or the fallback if there is none.
func textOrDefault(text *string, fallback string) string {
	if text == nil || *text == "" {
		return fallback
	}
	return *text
}
