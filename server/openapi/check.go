package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrMediaType is the error for a body whose Content-Type the operation does not take.
var ErrMediaType = errors.New("the body has a Content-Type that is not taken here")

// InvalidError says what is wrong with a request.
type InvalidError struct {
	Parameter string // empty: the body
	Reason    string // without a full stop
}

func (e *InvalidError) Error() string {
	if e.Parameter == "" {
		return "body: " + e.Reason
	}
	return fmt.Sprintf("parameter %q: %s", e.Parameter, e.Reason)
}

// CheckParameters holds the parameters of the path and of the query, the only ones that operations with a check have,
// against the operation, and gives those of the query that are absent their defaults. The form of times and UUIDs is left to whoever reads them. Its errors are
// InvalidErrors.
func (o *Operation) CheckParameters(r *http.Request) error {
	query := r.URL.Query()
	for _, p := range o.Parameters {
		text := query.Get(p.Name)
		switch {
		case p.In == "path":
			text = r.PathValue(p.Name)
		case query.Has(p.Name):
		case p.Required:
			return &InvalidError{p.Name, "value is required but missing"}
		case p.Schema.Default != nil:
			query.Set(p.Name, fmt.Sprint(p.Schema.Default))
			continue
		default:
			continue
		}
		value, ok := p.Schema.read(text)
		if !ok {
			return &InvalidError{p.Name, "value must be " + p.Schema.typeNames()}
		}
		if reason := p.Schema.fault(value); reason != "" {
			return &InvalidError{p.Name, reason}
		}
	}
	r.URL.RawQuery = query.Encode()
	return nil
}

// CheckBody holds a JSON body against the operation, and leaves it to be read again. Its errors are InvalidErrors,
// ErrMediaType, and those of reading.
func (o *Operation) CheckBody(r *http.Request) error {
	if o.RequestBody == nil {
		return nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form := o.RequestBody.Content[kind]
	if err != nil || form == nil {
		return ErrMediaType
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	if len(bytes.TrimSpace(text)) == 0 {
		return &InvalidError{Reason: "value is required but missing"}
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return &InvalidError{Reason: "it is not JSON: " + err.Error()}
	}
	if reason := form.Schema.fault(value); reason != "" {
		return &InvalidError{Reason: reason}
	}
	return nil
}

// read makes of a parameter what JSON would have.
func (s *Schema) read(text string) (any, bool) {
	switch {
	case s.Type.Has("integer"), s.Type.Has("number"):
		return json.Number(text), s.holds(json.Number(text))
	case s.Type.Has("boolean"):
		return text == "true", text == "true" || text == "false"
	}
	return text, true
}

// Has tells whether a type is among them.
func (t Types) Has(name string) bool { return slices.Contains(t, name) }

// typeNames is the types for people.
func (s *Schema) typeNames() string {
	names := make([]string, len(s.Type))
	for i, name := range s.Type {
		switch name {
		case "integer", "array", "object":
			names[i] = "an " + name
		case "null":
			names[i] = name
		default:
			names[i] = "a " + name
		}
	}
	return strings.Join(names, " or ")
}

// holds tells whether a value has one of the types.
func (s *Schema) holds(value any) bool {
	return len(s.Type) == 0 || slices.ContainsFunc(s.Type, func(name string) bool {
		switch v := value.(type) {
		case nil:
			return name == "null"
		case bool:
			return name == "boolean"
		case string:
			return name == "string"
		case json.Number:
			if name == "integer" {
				_, err := strconv.ParseInt(v.String(), 10, 64)
				return err == nil
			}
			_, err := v.Float64()
			return name == "number" && err == nil
		case []any:
			return name == "array"
		}
		return name == "object"
	})
}

// fault is why the schema does not allow a value, empty when it does.
func (s *Schema) fault(value any) string {
	if !s.holds(value) {
		return "value must be " + s.typeNames()
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(value) }) {
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = fmt.Sprintf("'%v'", e)
		}
		return "value must be one of " + strings.Join(words, ", ")
	}
	switch v := value.(type) {
	case json.Number:
		return s.numberFault(v)
	case string:
		return s.stringFault(v)
	case []any:
		for i, element := range v {
			if s.Items == nil {
				break
			}
			if reason := s.Items.fault(element); reason != "" {
				return fmt.Sprintf("\"%d\": %s", i, reason)
			}
		}
	case map[string]any:
		return s.objectFault(v)
	}
	return ""
}

func (s *Schema) numberFault(v json.Number) string {
	n, err := v.Float64()
	switch {
	case err != nil:
		return "value is too large"
	case s.Minimum != nil && n < *s.Minimum:
		return fmt.Sprintf("number must be at least %.0f", *s.Minimum)
	case s.Maximum != nil && n > *s.Maximum:
		return fmt.Sprintf("number must be at most %.0f", *s.Maximum)
	}
	return ""
}

func (s *Schema) stringFault(v string) string {
	switch n := utf8.RuneCountInString(v); {
	case n < s.MinLength:
		return fmt.Sprintf("at least %d characters are needed", s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("at most %d characters are taken", *s.MaxLength)
	case s.pattern != nil && !s.pattern.MatchString(v):
		return fmt.Sprintf("value must match %q", s.Pattern)
	}
	return ""
}

func (s *Schema) objectFault(v map[string]any) string {
	for _, name := range s.Required {
		if _, there := v[name]; !there {
			return fmt.Sprintf("%q is missing", name)
		}
	}
	for name, element := range v {
		if property := s.Properties[name]; property != nil {
			if reason := property.fault(element); reason != "" {
				return fmt.Sprintf("%q: %s", name, reason)
			}
		}
	}
	return ""
}

// compile prepares the pattern of a schema.
func (s *Schema) compile() (err error) {
	if s.Pattern != "" {
		s.pattern, err = regexp.Compile(s.Pattern)
	}
	return err
}
