// Package api holds the OpenAPI document of the HTTP API and what is generated from it.
package api

import (
	_ "embed" // for the document

	"github.com/rocelens/rocelens/server/openapi"
)

//go:generate go tool -modfile=../../tools/go.mod oapi-codegen -config oapi-codegen.yaml openapi.yaml

// YAML is the OpenAPI document as it was written.
//
//go:embed openapi.yaml
var YAML []byte

// Document parses the OpenAPI document, with all references resolved.
func Document() (*openapi.Document, error) {
	return openapi.Parse(YAML)
}
