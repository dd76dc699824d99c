package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// events decodes the stream of a watch; it implements watch.Decoder.
type events struct {
	client *Client
	body   io.ReadCloser
	dec    *jsontext.Decoder
}

// Decode implements watch.Decoder. At the end of the stream it returns io.EOF.
func (e *events) Decode() (watch.EventType, runtime.Object, error) {
	var what string
	var content jsontext.Value
	err := members(e.dec, func(name []byte) error {
		switch string(name) {
		case "type":
			return decode(e.dec, &what)
		case "object":
			value, err := e.dec.ReadValue()
			content = value.Clone()
			return err
		}
		return e.dec.SkipValue()
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.ErrUnexpectedEOF // unwrapped: StreamWatcher compares it to detect an interrupted watch
	}
	if err != nil {
		return "", nil, err
	}
	switch t := watch.EventType(what); t {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		o, err := Parse(content, e.client.annotations...)
		if err != nil {
			return "", nil, err
		}
		o.Received = e.client.clock.Now()
		return t, o, nil
	case watch.Error:
		status := &metav1.Status{}
		return t, status, json.Unmarshal(content, status)
	default:
		return "", nil, fmt.Errorf("unknown event type %q", what)
	}
}

// Close implements watch.Decoder.
func (e *events) Close() {
	// The stream is discarded whether or not closing it succeeds.
	_ = e.body.Close()
}
