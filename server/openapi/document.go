// Package openapi reads the document of the HTTP API and holds requests against it. It knows what that document uses of
// OpenAPI 3.1 and refuses any other. Libraries for all of it take longer to start than most captures take to analyse,
// and the command line starts with them.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Document is an OpenAPI document. All its references are resolved; those to schemas keep their names.
type Document struct {
	Version    string               `json:"openapi"`
	Info       Info                 `json:"info"`
	Servers    []Server             `json:"servers"`
	Tags       []Tag                `json:"tags"`
	Paths      map[string]*PathItem `json:"paths"`
	Components Components           `json:"components"`

	JSON []byte `json:"-"` // the document as JSON, indented
}

// Info is what the document says of the API as a whole.
type Info struct {
	Title       string            `json:"title"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     map[string]string `json:"license"`
}

// Server is where the paths begin.
type Server struct {
	URL string `json:"url"`
}

// Tag is a group of operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// PathItem is what can be done at one path.
type PathItem struct {
	Parameters []*Parameter `json:"parameters"` // of all operations
	Get        *Operation   `json:"get"`
	Head       *Operation   `json:"head"`
	Post       *Operation   `json:"post"`
	Patch      *Operation   `json:"patch"`
	Delete     *Operation   `json:"delete"`
	Options    *Operation   `json:"options"`
}

// Operation is one method at one path.
type Operation struct {
	ID          string               `json:"operationId"`
	Tags        []string             `json:"tags"`
	Summary     string               `json:"summary"`
	Description string               `json:"description"`
	Parameters  []*Parameter         `json:"parameters"` // those of the path first
	RequestBody *Body                `json:"requestBody"`
	Responses   map[string]*Response `json:"responses"` // by status, or "default"

	Method string `json:"-"`
	Path   string `json:"-"` // as in the document, such as /captures/{capture_id}
}

// Body is what an operation is sent.
type Body struct {
	Required bool                  `json:"required"`
	Content  map[string]*MediaType `json:"content"`
}

// MediaType is a body in one form.
type MediaType struct {
	Schema *Schema `json:"schema"`
}

// Response is what an operation answers.
type Response struct {
	Ref         string                `json:"$ref"`
	Description string                `json:"description"`
	Headers     map[string]*Header    `json:"headers"`
	Content     map[string]*MediaType `json:"content"`
}

// Header is a header of a response.
type Header struct {
	Ref         string  `json:"$ref"`
	Description string  `json:"description"`
	Schema      *Schema `json:"schema"`
}

// Parameter is a part of the path, of the query or of the header.
type Parameter struct {
	Ref         string  `json:"$ref"`
	Name        string  `json:"name"`
	In          string  `json:"in"` // path, query or header
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *Schema `json:"schema"`
}

// Schema says what a value may be.
type Schema struct {
	Ref                  string             `json:"$ref"` // of the schema that this one is
	Type                 Types              `json:"type"`
	Format               string             `json:"format"`
	Description          string             `json:"description"`
	Enum                 []any              `json:"enum"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	MinLength            int                `json:"minLength"` // characters
	MaxLength            *int               `json:"maxLength"`
	Pattern              string             `json:"pattern"`
	Default              any                `json:"default"`
	Items                *Schema            `json:"items"`
	Properties           map[string]*Schema `json:"properties"`
	AdditionalProperties *Schema            `json:"additionalProperties"`
	Required             []string           `json:"required"`
	OneOf                []*Schema          `json:"oneOf"`

	pattern *regexp.Regexp
}

// Types are the names of types, of which a document gives one or several.
type Types []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Types) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(t))
	}
	*t = make(Types, 1)
	return json.Unmarshal(text, &(*t)[0])
}

// Components are the parts that references name.
type Components struct {
	Schemas    map[string]*Schema    `json:"schemas"`
	Parameters map[string]*Parameter `json:"parameters"`
	Responses  map[string]*Response  `json:"responses"`
	Headers    map[string]*Header    `json:"headers"`
}

// Parse reads a document written in YAML. It refuses one that has anything that this package does not know.
func Parse(text []byte) (*Document, error) {
	var raw any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("read OpenAPI document: %w", err)
	}
	d := &Document{}
	var err error
	if d.JSON, err = json.MarshalIndent(raw, "", "  "); err != nil {
		return nil, fmt.Errorf("read OpenAPI document: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(d.JSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, fmt.Errorf("read OpenAPI document: %w", err)
	}
	if err := d.resolve(); err != nil {
		return nil, fmt.Errorf("read OpenAPI document: %w", err)
	}
	return d, nil
}

// Operations lists what can be done, in the order of the paths.
func (d *Document) Operations() []*Operation {
	var all []*Operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		all = append(all, d.Paths[path].operations()...)
	}
	return all
}

// operations are those of one path, each with its method.
func (p *PathItem) operations() []*Operation {
	var all []*Operation
	for _, o := range []struct {
		method    string
		operation *Operation
	}{
		{http.MethodOptions, p.Options},
		{http.MethodGet, p.Get},
		{http.MethodHead, p.Head},
		{http.MethodPost, p.Post},
		{http.MethodPatch, p.Patch},
		{http.MethodDelete, p.Delete},
	} {
		if o.operation != nil {
			o.operation.Method = o.method
			all = append(all, o.operation)
		}
	}
	return all
}

// SchemaName is the name among the components of the schema that this one is, empty when it stands here itself.
func (s *Schema) SchemaName() string { return strings.TrimPrefix(s.Ref, schemaRef) }

const schemaRef = "#/components/schemas/"
