package telemetry

import (
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Formats that [NewLogger] supports.
const (
	FormatJSON = "json"
	FormatText = "text"
)

// NewLogger returns a logger that writes one line per entry to w, as JSON or as
// text for a terminal. The level is "error", "warn", "info", "debug" or "trace";
// logr's V(0) is info, V(1) debug and V(2) and above trace. An unknown format
// or level is an error that names the values allowed.
func NewLogger(w io.Writer, format, level string) (logr.Logger, error) {
	threshold, err := parseLevel(level)
	if err != nil {
		return logr.Discard(), err
	}
	encoder, err := newEncoder(format)
	if err != nil {
		return logr.Discard(), err
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), threshold)
	return zapr.NewLogger(zap.New(core)), nil
}

func newEncoder(format string) (zapcore.Encoder, error) {
	cfg := zap.NewProductionEncoderConfig()
	cfg.TimeKey = "time"
	cfg.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	cfg.EncodeLevel = encodeLevel
	switch format {
	case FormatJSON:
		return zapcore.NewJSONEncoder(cfg), nil
	case FormatText:
		return zapcore.NewConsoleEncoder(cfg), nil
	}
	return nil, fmt.Errorf("unknown log format %q, want json or text", format)
}

// traceLevel lies below zap's debug: logr's V(n) is zap's level -n.
const traceLevel = zapcore.Level(-2)

func parseLevel(level string) (zapcore.Level, error) {
	switch level {
	case "error":
		return zapcore.ErrorLevel, nil
	case "warn":
		return zapcore.WarnLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	case "trace":
		// Every deeper V is shown too.
		return zapcore.Level(-127), nil
	}
	return 0, fmt.Errorf("unknown log level %q, want error, warn, info, debug or trace", level)
}

func encodeLevel(l zapcore.Level, enc zapcore.PrimitiveArrayEncoder) {
	if l <= traceLevel {
		enc.AppendString("trace")
		return
	}
	enc.AppendString(l.String())
}
