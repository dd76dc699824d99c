package statusclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the maximum length of a line: a message of the bus on one line, with a margin.
const maxLine = 1 << 20

// errEnded reports that the server closed the stream.
var errEnded = errors.New("the stream ended")

// frame is one server-sent event. One without data only sets the position to resume from.
type frame struct {
	id   string
	data []byte
}

// readFrames reads server-sent events (HTML Living Standard, 9.2) until the stream ends or handle returns an error. It
// calls onActivity for each line, comments included. It never returns nil.
func readFrames(r io.Reader, onActivity func(), handle func(frame) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64*1024), maxLine)
	var now frame // the id also applies to the following events
	hasData, hasID := false, false
	for lines.Scan() {
		onActivity()
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
		if len(line) == 0 {
			if hasData || hasID {
				if err := handle(now); err != nil {
					return err
				}
			}
			now.data, hasData, hasID = nil, false, false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "id":
			now.id, hasID = string(value), true
		case "data":
			if hasData {
				now.data = append(now.data, '\n')
			}
			now.data, hasData = append(now.data, value...), true
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	return errEnded
}
