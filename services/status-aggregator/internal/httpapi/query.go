package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// bounds are the minimum, the maximum and the default of a number in a query.
type bounds struct{ min, max, fallback int }

var (
	boundsList    = bounds{1, 1000, 500}
	boundsHistory = bounds{1, 500, 100}
)

// parameters reads the query. An unknown parameter is an error, and so is a parameter that is given
// twice, except for those that may be repeated.
func parameters(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query cannot be read: %s", err.Error())
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return nil, badRequest("unknown parameter %s, want one of %s", quote(name), strings.Join(known, ", "))
		}
		if len(given) > 1 && name != statusapi.ParamCondition {
			return nil, badRequest("parameter %s is given %d times", quote(name), len(given))
		}
	}
	return values, nil
}

// filter returns the filter of the query.
func filter(kinds registry.Set, values url.Values) (readmodel.Filter, error) {
	f := readmodel.Filter{
		Namespace: values.Get(statusapi.ParamNamespace),
		Kind:      contract.Kind(values.Get(statusapi.ParamKind)),
		Name:      values.Get(statusapi.ParamName),
	}
	for _, name := range []string{f.Namespace, f.Name} {
		if name == "" {
			continue
		}
		if err := checkName(name); err != nil {
			return f, err
		}
	}
	if _, ok := kinds.Lookup(f.Kind); f.Kind != "" && !ok {
		return f, badRequest("unknown kind %s, want one of %s", quote(string(f.Kind)), tokens(kinds))
	}
	for _, text := range values[statusapi.ParamCondition] {
		c, err := condition(text)
		if err != nil {
			return f, err
		}
		f.Conditions = append(f.Conditions, c)
	}
	return f, nil
}

// checkName rejects names that are invalid for every object.
func checkName(name string) error {
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return badRequest("%s %s", quote(name), strings.Join(problems, ", "))
	}
	if _, err := contract.EncodeToken(name); err != nil {
		return badRequest("%s is not a valid namespace or object name", quote(name))
	}
	return nil
}

func tokens(kinds registry.Set) string {
	var names []string
	for _, k := range kinds.Kinds() {
		names = append(names, string(k.Token))
	}
	return strings.Join(names, ", ")
}

// condition parses Type or Type=Status.
func condition(text string) (readmodel.ConditionFilter, error) {
	kind, status, given := strings.Cut(text, "=")
	if kind == "" || (given && !slices.Contains([]string{"True", "False", "Unknown"}, status)) {
		return readmodel.ConditionFilter{}, badRequest("condition %s is not Type, Type=True, Type=False or Type=Unknown", quote(text))
	}
	return readmodel.ConditionFilter{Type: kind, Status: status}, nil
}

func number(values url.Values, name string, b bounds) (int, error) {
	text := values.Get(name)
	if text == "" {
		return b.fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < b.min || n > b.max {
		return 0, badRequest("%s must be a number from %d to %d, is %s", name, b.min, b.max, quote(text))
	}
	return n, nil
}

// sequence returns the position to resume from: the header that browsers and other clients set
// themselves, or the parameter; nil without either.
func sequence(r *http.Request, values url.Values) (*uint64, error) {
	source, text := "Last-Event-ID", r.Header.Get("Last-Event-ID")
	if text == "" {
		source, text = statusapi.ParamSince, values.Get(statusapi.ParamSince)
	}
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, badRequest("%s must be the id of an event, is %s", source, quote(text))
	}
	return &n, nil
}

// pageToken names the last object of a page.
func pageToken(last statusapi.Resource) string {
	return base64.RawURLEncoding.EncodeToString([]byte(
		last.Object.Namespace + "/" + string(last.Kind) + "/" + last.Object.Name))
}

// afterToken returns the resource of a token, for comparison.
func afterToken(token string) (statusapi.Resource, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	parts := strings.Split(string(raw), "/")
	if err != nil || len(parts) != 3 {
		return statusapi.Resource{}, badRequest("continue must be the token of a previous page")
	}
	return statusapi.Resource{
		Kind: contract.Kind(parts[1]), Object: contract.Object{Namespace: parts[0], Name: parts[2]},
	}, nil
}

// quote escapes and truncates foreign text.
func quote(text string) string {
	const maxLength = 100
	if len(text) > maxLength {
		text = text[:maxLength] + "..."
	}
	return strconv.Quote(text)
}
