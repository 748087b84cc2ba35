package openapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/server/openapi"
)

const document = `
openapi: 3.1.0
paths:
  /things/{number}:
    parameters: [{$ref: "#/components/parameters/Number"}]
    post:
      operationId: makeThing
      parameters:
        - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 500, default: 100}}
        - {name: order, in: query, schema: {type: string, enum: [asc, desc]}}
        - {name: flow, in: query, schema: {type: string, pattern: "^[0-9]{1,3}$"}}
        - {name: both, in: query, schema: {type: boolean, default: false}}
        - {name: name, in: query, required: true, schema: {type: string, minLength: 2, maxLength: 3}}
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}
components:
  parameters:
    Number: {name: number, in: path, required: true, schema: {type: integer, minimum: 1}}
  schemas:
    Thing:
      type: object
      required: [sql]
      properties:
        sql: {type: string, minLength: 1}
        rows: {type: [integer, "null"], maximum: 9}
        format: {$ref: "#/components/schemas/Format"}
        list: {type: array, items: {type: string, maxLength: 1}}
    Format: {type: string, enum: [csv, json]}
`

func operation(t *testing.T) *openapi.Operation {
	t.Helper()
	d, err := openapi.Parse([]byte(document))
	require.NoError(t, err)
	operations := d.Operations()
	require.Len(t, operations, 1)
	require.Equal(t, "POST /things/{number}", operations[0].Method+" "+operations[0].Path)
	return operations[0]
}

func TestCheckParameters(t *testing.T) {
	o := operation(t)
	for _, tc := range []struct{ number, query, reason string }{
		{"1", "name=abc", ""},
		{"1", "name=äöü&limit=500&order=asc&flow=12&both=true", ""},
		{"0", "name=abc", `parameter "number": number must be at least 1`},
		{"x", "name=abc", `parameter "number": value must be an integer`},
		{"1.5", "name=abc", `parameter "number": value must be an integer`},
		{"1", "", `parameter "name": value is required but missing`},
		{"1", "name=a", `parameter "name": at least 2 characters are needed`},
		{"1", "name=abcd", `parameter "name": at most 3 characters are taken`},
		{"1", "name=abc&limit=501", `parameter "limit": number must be at most 500`},
		{"1", "name=abc&limit=", `parameter "limit": value must be an integer`},
		{"1", "name=abc&limit=99999999999999999999", `parameter "limit": value must be an integer`},
		{"1", "name=abc&order=up", `parameter "order": value must be one of 'asc', 'desc'`},
		{"1", "name=abc&flow=x", `parameter "flow": value must match "^[0-9]{1,3}$"`},
		{"1", "name=abc&both=yes", `parameter "both": value must be a boolean`},
	} {
		r := httptest.NewRequest(http.MethodPost, "/things/1?"+tc.query, nil)
		r.SetPathValue("number", tc.number)
		err := o.CheckParameters(r)
		if tc.reason != "" {
			require.EqualError(t, err, tc.reason)
			continue
		}
		require.NoError(t, err)
		require.NotEmpty(t, r.URL.Query().Get("limit"), "the default was put in")
		require.Equal(t, r.URL.Query().Get("both"), map[bool]string{true: "true", false: "false"}[strings.Contains(tc.query, "both")])
		require.False(t, r.URL.Query().Has("order") && !strings.Contains(tc.query, "order"), "there is no default to put in")
	}
}

func TestCheckBody(t *testing.T) {
	o := operation(t)
	for _, tc := range []struct{ kind, body, reason string }{
		{"application/json", `{"sql": "x"}`, ""},
		{"application/json; charset=utf-8", `{"sql": "x", "rows": 9, "format": "csv", "list": ["a"], "more": {}}`, ""},
		{"application/json", `{"sql": "x", "rows": null}`, ""},
		{"application/json", ` `, "body: value is required but missing"},
		{"application/json", `[]`, "body: value must be an object"},
		{"application/json", `{"rows": 1}`, `body: "sql" is missing`},
		{"application/json", `{"sql": ""}`, `body: "sql": at least 1 characters are needed`},
		{"application/json", `{"sql": 1}`, `body: "sql": value must be a string`},
		{"application/json", `{"sql": "x", "rows": 10}`, `body: "rows": number must be at most 9`},
		{"application/json", `{"sql": "x", "rows": 1.5}`, `body: "rows": value must be an integer or null`},
		{"application/json", `{"sql": "x", "format": "xml"}`, `body: "format": value must be one of 'csv', 'json'`},
		{"application/json", `{"sql": "x", "list": ["a", "bc"]}`, `body: "list": "1": at most 1 characters are taken`},
		{"application/json", `SELECT 1`, "body: it is not JSON: invalid character 'S' looking for beginning of value"},
		{"text/plain", `{"sql": "x"}`, openapi.ErrMediaType.Error()},
		{"", `{"sql": "x"}`, openapi.ErrMediaType.Error()},
	} {
		r := httptest.NewRequest(http.MethodPost, "/things/1", strings.NewReader(tc.body))
		r.Header.Set("Content-Type", tc.kind)
		err := o.CheckBody(r)
		if tc.reason != "" {
			require.EqualError(t, err, tc.reason)
			continue
		}
		require.NoError(t, err)
		again, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Equal(t, tc.body, string(again), "whoever handles the request reads the body")
	}
}

func TestCheckBodyPassesOnErrorsOfReading(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/things/1", strings.NewReader(strings.Repeat(" ", 100)))
	r.Header.Set("Content-Type", "application/json")
	r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 10)
	_, tooLarge := errors.AsType[*http.MaxBytesError](operation(t).CheckBody(r))
	require.True(t, tooLarge)
}

func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	for old, text := range map[string]string{
		"minimum: 1, maximum: 500": "multipleOf: 5",
		"components/schemas/Thing": "components/schemas/Nothing",
		"^[0-9]{1,3}$":             "^[0-9",
		"openapi: 3.1.0":           "openapi: [",
	} {
		_, err := openapi.Parse([]byte(strings.Replace(document, old, text, 1)))
		require.Error(t, err, text)
	}
}

// TestParseReadsAsTheLibraryDoes holds the API's own document against a library that knows all of OpenAPI.
func TestParseReadsAsTheLibraryDoes(t *testing.T) {
	ours, err := api.Document()
	require.NoError(t, err)
	theirs, err := openapi3.NewLoader().LoadFromData(api.YAML)
	require.NoError(t, err)
	text, err := json.Marshal(theirs)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(ours.JSON))

	operations := 0
	for _, o := range ours.Operations() {
		operations++
		item := theirs.Paths.Value(o.Path)
		operation := item.GetOperation(o.Method)
		require.NotNil(t, operation, "%s %s", o.Method, o.Path)
		for i, p := range append(item.Parameters, operation.Parameters...) {
			assert.Equal(t, p.Value.Name, o.Parameters[i].Name)
			assert.Equal(t, p.Value.Required, o.Parameters[i].Required)
			assert.Equal(t, p.Value.Schema.Value.Type.Slice(), []string(o.Parameters[i].Schema.Type), "%s of %s", p.Value.Name, o.ID)
		}
		if operation.RequestBody != nil {
			for kind := range operation.RequestBody.Value.Content {
				assert.Contains(t, o.RequestBody.Content, kind)
			}
		}
		assert.Len(t, o.Responses, operation.Responses.Len())
	}
	for _, item := range theirs.Paths.Map() {
		operations -= len(item.Operations())
	}
	assert.Zero(t, operations, "operations that only one of the two found")
}
