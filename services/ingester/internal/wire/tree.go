package wire

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Tree decodes a JSON object like encoding/json, but with integers as int64, as Kubernetes does.
// Empty text and null are an empty tree. Text that is not valid UTF-8 is an error.
func Tree(text []byte) (map[string]any, error) {
	if len(text) == 0 {
		return map[string]any{}, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	v, err := tree(dec)
	if err != nil {
		return nil, located(err)
	}
	switch object := v.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return object, nil
	}
	return nil, Invalid("got %T, want object", v)
}

func tree(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return members(dec)
	case '[':
		return elements(dec)
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String())
	case 't', 'f':
		return token.Bool(), nil
	default: // null; the decoder rejects everything else
		return nil, nil // a value of JSON
	}
}

func members(dec *jsontext.Decoder) (any, error) {
	object := map[string]any{}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		value, err := tree(dec)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	_, err := dec.ReadToken()
	return object, err
}

func elements(dec *jsontext.Decoder) (any, error) {
	list := []any{}
	for dec.PeekKind() != ']' {
		value, err := tree(dec)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := dec.ReadToken()
	return list, err
}

func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, Invalid("number %s is out of range", text)
	}
	return f, nil
}
