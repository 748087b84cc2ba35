package store

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// maxExact is the largest integer up to which JavaScript's numbers tell all integers apart.
const maxExact = 1<<53 - 1

// plain turns a scanned value into what encoding/json writes as a Result promises. column is the
// ClickHouse type, which tells dates from times.
func plain(v reflect.Value, column string) any {
	if !v.IsValid() {
		return nil
	}
	if special, done := known(v, column); done {
		return special
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem(), column)
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); n <= maxExact && n >= -maxExact {
			return n
		}
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if n := v.Uint(); n <= maxExact {
			return n
		}
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32:
		return float(v.Float(), 32)
	case reflect.Float64:
		return float(v.Float(), 64)
	case reflect.String:
		return strings.ToValidUTF8(v.String(), "\ufffd")
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i), column)
		}
		return list
	case reflect.Map:
		object := make(map[string]any, v.Len())
		for entry := v.MapRange(); entry.Next(); {
			object[fmt.Sprint(plain(entry.Key(), column))] = plain(entry.Value(), column)
		}
		return object
	default:
		return fmt.Sprint(v.Interface())
	}
}

// known are the types that have a text of their own.
func known(v reflect.Value, column string) (any, bool) {
	if !v.CanInterface() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, false
	}
	switch value := v.Interface().(type) {
	case net.IP:
		if address, ok := netip.AddrFromSlice(value); ok {
			return address.Unmap().String(), true
		}
		return nil, true
	case netip.Addr:
		return value.Unmap().String(), true
	case time.Time:
		if !strings.Contains(column, "DateTime") && strings.Contains(column, "Date") {
			return value.Format(time.DateOnly), true
		}
		return value.UTC().Format(time.RFC3339Nano), true
	case time.Duration:
		return value.String(), true
	case big.Int:
		return value.String(), true
	case *big.Int:
		return value.String(), true
	case interface{ MarshalJSON() ([]byte, error) }:
		return fromJSON(value)
	case fmt.Stringer:
		return value.String(), true
	}
	return nil, false
}

// fromJSON is for values such as decimals and dynamic ones that know how to write themselves. A number is
// kept as text: as a float it would lose digits.
func fromJSON(value interface{ MarshalJSON() ([]byte, error) }) (any, bool) {
	text, err := value.MarshalJSON()
	if err != nil {
		return nil, false
	}
	return json.RawMessage(text), true
}

// float is the number, or text for those that JSON has no notation for.
func float(f float64, bits int) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	if bits == 32 {
		return float32(f)
	}
	return f
}
