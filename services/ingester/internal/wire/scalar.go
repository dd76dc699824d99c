package wire

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// scalars are the plain field types. Unsigned integers are missing on purpose:
// the CRDs cannot express them, so no kind may use them.
var scalars = map[protoreflect.Kind]scalar{
	protoreflect.BoolKind:     {encode: appendBool, wireType: protowire.VarintType, isZero: isFalse},
	protoreflect.Int32Kind:    {encode: varint(32), wireType: protowire.VarintType, isZero: zeroInt},
	protoreflect.Int64Kind:    {encode: varint(64), wireType: protowire.VarintType, isZero: zeroInt},
	protoreflect.Sint32Kind:   {encode: zigzag(32), wireType: protowire.VarintType, isZero: zeroInt},
	protoreflect.Sint64Kind:   {encode: zigzag(64), wireType: protowire.VarintType, isZero: zeroInt},
	protoreflect.Sfixed32Kind: {encode: fixed32, wireType: protowire.Fixed32Type, isZero: zeroInt},
	protoreflect.Sfixed64Kind: {encode: fixed64, wireType: protowire.Fixed64Type, isZero: zeroInt},
	protoreflect.FloatKind:    {encode: appendFloat, wireType: protowire.Fixed32Type, isZero: zeroFloat},
	protoreflect.DoubleKind:   {encode: appendDouble, wireType: protowire.Fixed64Type, isZero: zeroFloat},
	protoreflect.StringKind:   {encode: appendString, wireType: protowire.BytesType, isZero: emptyString},
	protoreflect.BytesKind:    {encode: appendBytes, wireType: protowire.BytesType, isZero: emptyString},
}

func isFalse(v any) bool     { return v == false }
func emptyString(v any) bool { return v == "" }

func zeroInt(v any) bool {
	n, err := Int(v, 64)
	return err == nil && n == 0
}

func zeroFloat(v any) bool {
	f, err := Float(v)
	return err == nil && f == 0 && !math.Signbit(f)
}

func appendBool(b []byte, v any) ([]byte, error) {
	value, ok := v.(bool)
	if !ok {
		return nil, Invalid("got %T, want boolean", v)
	}
	return protowire.AppendVarint(b, protowire.EncodeBool(value)), nil
}

func varint(bits int) encodeFunc {
	return func(b []byte, v any) ([]byte, error) {
		n, err := Int(v, bits)
		if err != nil {
			return nil, err
		}
		return protowire.AppendVarint(b, uint64(n)), nil //nolint:gosec // protobuf writes negative integers as their two's complement
	}
}

func zigzag(bits int) encodeFunc {
	return func(b []byte, v any) ([]byte, error) {
		n, err := Int(v, bits)
		if err != nil {
			return nil, err
		}
		return protowire.AppendVarint(b, protowire.EncodeZigZag(n)), nil
	}
}

func fixed32(b []byte, v any) ([]byte, error) {
	n, err := Int(v, 32)
	if err != nil {
		return nil, err
	}
	return protowire.AppendFixed32(b, uint32(n)), nil //nolint:gosec // two's complement, the range is checked above
}

func fixed64(b []byte, v any) ([]byte, error) {
	n, err := Int(v, 64)
	if err != nil {
		return nil, err
	}
	return protowire.AppendFixed64(b, uint64(n)), nil //nolint:gosec // two's complement
}

func appendFloat(b []byte, v any) ([]byte, error) {
	f, err := Float(v)
	if err != nil {
		return nil, err
	}
	if math.Abs(f) > math.MaxFloat32 && !math.IsInf(f, 0) {
		return nil, Invalid("%v is too large for a float", f)
	}
	return protowire.AppendFixed32(b, math.Float32bits(float32(f))), nil
}

func appendDouble(b []byte, v any) ([]byte, error) {
	f, err := Float(v)
	if err != nil {
		return nil, err
	}
	return protowire.AppendFixed64(b, math.Float64bits(f)), nil
}

func appendString(b []byte, v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok {
		return nil, Invalid("got %T, want string", v)
	}
	if !utf8.ValidString(s) {
		return nil, Invalid("text is not valid UTF-8")
	}
	return append(b, s...), nil
}

func appendBytes(b []byte, v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok {
		return nil, Invalid("got %T, want base64 string", v)
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, Invalid("invalid base64: %v", err)
	}
	return append(b, raw...), nil
}

// Int reads an integer of 32 or 64 bits from its JSON form: a number or text.
func Int(v any, bits int) (int64, error) {
	var n int64
	switch value := v.(type) {
	case int64:
		n = value
	case int:
		n = int64(value)
	case float64:
		n = int64(value)
		if float64(n) != value {
			return 0, Invalid("%v is not an integer", value)
		}
	case json.Number:
		return Int(string(value), bits)
	case string:
		parsed, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0, Invalid("%q is not an integer", value)
		}
		n = parsed
	default:
		return 0, Invalid("got %T, want integer", v)
	}
	if bits == 32 && (n < math.MinInt32 || n > math.MaxInt32) {
		return 0, Invalid("%d does not fit into 32 bits", n)
	}
	return n, nil
}

// Float reads a floating point number from its JSON form: a number, or one of the
// texts NaN, Infinity and -Infinity.
func Float(v any) (float64, error) {
	switch value := v.(type) {
	case float64:
		return value, nil
	case int64:
		return float64(value), nil
	case int:
		return float64(value), nil
	case json.Number:
		f, err := value.Float64()
		if err != nil {
			return 0, Invalid("%q is not a number", value)
		}
		return f, nil
	case string:
		switch value {
		case "NaN":
			return math.NaN(), nil
		case "Infinity":
			return math.Inf(1), nil
		case "-Infinity":
			return math.Inf(-1), nil
		}
		return 0, Invalid("%q is not a number", value)
	}
	return 0, Invalid("got %T, want number", v)
}

// EnumValue returns an enum value from its JSON form: its name, or its number.
func EnumValue(d protoreflect.EnumDescriptor, v any) (protoreflect.EnumValueDescriptor, error) {
	if name, ok := v.(string); ok {
		value := d.Values().ByName(protoreflect.Name(name))
		if value == nil {
			return nil, Invalid("%q is not a value of %s", name, d.FullName())
		}
		return value, nil
	}
	n, err := Int(v, 32)
	if err != nil {
		return nil, Invalid("got %T, want a value of %s", v, d.FullName())
	}
	value := d.Values().ByNumber(protoreflect.EnumNumber(n)) //nolint:gosec // the range is checked by Int
	if value == nil {
		return nil, Invalid("%d is not a value of %s", n, d.FullName())
	}
	return value, nil
}

func enumFunc(d protoreflect.EnumDescriptor) encodeFunc {
	return func(b []byte, v any) ([]byte, error) {
		value, err := EnumValue(d, v)
		if err != nil {
			return nil, err
		}
		return protowire.AppendVarint(b, uint64(value.Number())), nil //nolint:gosec // two's complement
	}
}

func enumZero(d protoreflect.EnumDescriptor) func(any) bool {
	return func(v any) bool {
		value, err := EnumValue(d, v)
		return err == nil && value.Number() == 0
	}
}
