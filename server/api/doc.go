// Package api holds the OpenAPI document of the HTTP API and what is generated from it.
package api

//go:generate go tool -modfile=../../tools/go.mod oapi-codegen -config oapi-codegen.yaml openapi.yaml
