package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Log is the audit log file of an API server.
type Log struct {
	Path string
}

// Mark is an offset in the log between two events.
type Mark int64

// Since returns the complete events after the mark, and the mark after them.
func (l Log) Since(from Mark) (_ []byte, to Mark, err error) {
	file, err := os.Open(l.Path)
	if err != nil {
		return nil, 0, fmt.Errorf("read the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("read the audit log: %w", err)
	}
	if info.Size() < int64(from) {
		return nil, 0, fmt.Errorf("audit log %s was rotated: shorten the measurement", l.Path)
	}
	data, err := io.ReadAll(io.NewSectionReader(file, int64(from), info.Size()-int64(from)))
	if err != nil {
		return nil, 0, fmt.Errorf("read the audit log: %w", err)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	return whole, from + Mark(len(whole)), nil
}
