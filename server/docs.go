package server

import (
	"bytes"
	"cmp"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/server/openapi"
)

//go:embed docs.html
var docsTemplate string

//go:embed docs.css
var docsStyle string

const (
	exampleAddress = "http://127.0.0.1:8790"
	docsPolicy     = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// docs serves the API's document, for programs and for people.
type docs struct {
	html     []byte // calls stand in it with the address exampleAddress
	yamlFile asset
	jsonFile asset
}

func newDocs(s *Server) (*docs, error) {
	document, err := api.Document()
	if err != nil {
		return nil, fmt.Errorf("the API's document: %w", err)
	}
	page, err := template.New("docs").Funcs(template.FuncMap{"inline": inline}).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("documentation page: %w", err)
	}
	var html bytes.Buffer
	if err := page.Execute(&html, describe(document, s.opt.Version)); err != nil {
		return nil, fmt.Errorf("documentation page: %w", err)
	}
	d := &docs{
		html:     html.Bytes(),
		yamlFile: newAsset("openapi.yaml", api.YAML),
		jsonFile: newAsset("openapi.json", document.JSON),
	}
	d.yamlFile.contentType = "application/yaml"
	return d, nil
}

// page shows calls with the address that this reader uses, so that they work as they are copied.
func (d *docs) page(w http.ResponseWriter, r *http.Request) {
	address := "http://"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		address = "https://"
	}
	address += r.Host
	html := newAsset("docs.html", bytes.ReplaceAll(d.html, []byte(exampleAddress), []byte(template.HTMLEscapeString(address))))
	html.policy = docsPolicy
	html.serve(w, r)
}

func (d *docs) yaml(w http.ResponseWriter, r *http.Request) { d.yamlFile.serve(w, r) }
func (d *docs) json(w http.ResponseWriter, r *http.Request) { d.jsonFile.serve(w, r) }

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Etag", a.etag)
	w.Header().Set("Cache-Control", "no-cache")
	if a.policy != "" {
		w.Header().Set("Content-Security-Policy", a.policy)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}

// docsView is what the page shows.
type docsView struct {
	Title, Version string
	Style          template.CSS
	Paragraphs     []string
	Groups         []docsGroup
	Schemas        []docsSchema
	Problems       []problemKind
}

type docsGroup struct {
	Name, Description string
	Operations        []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary string
	Paragraphs                []string
	Parameters                []docsField
	Body                      []docsContent
	Answers                   []docsAnswer
	Example                   string
}

type docsField struct {
	Name, In, Description string
	Type                  docsType
	Required              bool
}

type docsType struct {
	Text    string // "integer", "array of", ...
	Ref     string // name of a schema that the text ends with
	Details string // limits and default
}

type docsContent struct {
	MediaType string
	Type      docsType
	Fields    []docsField // of a schema without a name
}

type docsAnswer struct {
	Status, Description string
	Content             []docsContent
	Headers             []docsField
}

type docsSchema struct {
	Name       string
	Paragraphs []string
	Type       docsType
	Fields     []docsField
}

func describe(document *openapi.Document, version string) docsView {
	view := docsView{
		Title: document.Info.Title, Version: version, Style: template.CSS(docsStyle), //nolint:gosec // our own file
		Paragraphs: paragraphs(document.Info.Description), Problems: problemKinds,
	}
	byTag := map[string][]docsOperation{}
	for _, operation := range document.Operations() {
		byTag[operation.Tags[0]] = append(byTag[operation.Tags[0]], describeOperation(operation))
	}
	for _, tag := range document.Tags {
		view.Groups = append(view.Groups, docsGroup{Name: tag.Name, Description: tag.Description, Operations: byTag[tag.Name]})
	}
	for name, schema := range document.Components.Schemas {
		view.Schemas = append(view.Schemas, docsSchema{
			Name: name, Paragraphs: paragraphs(schema.Description), Type: describeType(schema), Fields: describeFields(schema),
		})
	}
	slices.SortFunc(view.Schemas, func(a, b docsSchema) int { return strings.Compare(a.Name, b.Name) })
	return view
}

func describeOperation(operation *openapi.Operation) docsOperation {
	out := docsOperation{
		ID: operation.ID, Method: operation.Method, Path: basePath + operation.Path,
		Summary: operation.Summary, Paragraphs: paragraphs(operation.Description),
	}
	for _, p := range operation.Parameters {
		out.Parameters = append(out.Parameters, docsField{
			Name: p.Name, In: p.In, Description: p.Description, Type: describeType(p.Schema), Required: p.Required,
		})
	}
	if operation.RequestBody != nil {
		out.Body = describeContent(operation.RequestBody.Content)
	}
	for status, response := range operation.Responses {
		answer := docsAnswer{Status: status, Description: response.Description, Content: describeContent(response.Content)}
		for name, header := range response.Headers {
			answer.Headers = append(answer.Headers, docsField{Name: name, Description: header.Description, Type: describeType(header.Schema)})
		}
		slices.SortFunc(answer.Headers, func(a, b docsField) int { return strings.Compare(a.Name, b.Name) })
		out.Answers = append(out.Answers, answer)
	}
	slices.SortFunc(out.Answers, func(a, b docsAnswer) int { return strings.Compare(a.Status, b.Status) })
	out.Example = exampleOf(out)
	return out
}

func describeContent(content map[string]*openapi.MediaType) []docsContent {
	var out []docsContent
	for mediaType, m := range content {
		c := docsContent{MediaType: mediaType}
		if m.Schema != nil {
			c.Type = describeType(m.Schema)
			if c.Type.Ref == "" {
				c.Fields = describeFields(m.Schema)
			}
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b docsContent) int { return strings.Compare(a.MediaType, b.MediaType) })
	return out
}

func describeFields(schema *openapi.Schema) []docsField {
	if schema.Type.Has("array") && schema.Items != nil {
		schema = schema.Items
	}
	var out []docsField
	for name, property := range schema.Properties {
		out = append(out, docsField{
			Name: name, Description: property.Description, Type: describeType(property),
			Required: slices.Contains(schema.Required, name),
		})
	}
	// Required fields first, as the document lists them.
	place := func(f docsField) int {
		if i := slices.Index(schema.Required, f.Name); i >= 0 {
			return i
		}
		return len(schema.Required)
	}
	slices.SortFunc(out, func(a, b docsField) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a.Name, b.Name))
	})
	return out
}

func describeType(schema *openapi.Schema) docsType {
	if schema == nil {
		return docsType{Text: "anything"}
	}
	if name := schema.SchemaName(); name != "" {
		return docsType{Ref: name}
	}
	t := docsType{Text: "anything", Details: strings.Join(limitsOf(schema), ", ")}
	if schema.Type == nil {
		return t
	}
	names := slices.Clone(schema.Type)
	for i, name := range names {
		if name == "string" && schema.Format != "" {
			names[i] = schema.Format
		}
	}
	t.Text = strings.Join(names, " or ")
	if schema.Type.Has("array") && schema.Items != nil {
		items := describeType(schema.Items)
		t.Text, t.Ref = strings.TrimSpace("array of "+items.Text), items.Ref
		t.Details = strings.TrimPrefix(t.Details+", "+items.Details, ", ")
	}
	return t
}

func limitsOf(v *openapi.Schema) []string {
	var out []string
	if len(v.Enum) > 0 {
		words := make([]string, len(v.Enum))
		for i, e := range v.Enum {
			words[i] = fmt.Sprint(e)
		}
		out = append(out, "one of "+strings.Join(words, ", "))
	}
	if v.Minimum != nil {
		out = append(out, fmt.Sprintf("from %.0f", *v.Minimum))
	}
	if v.Maximum != nil {
		out = append(out, fmt.Sprintf("to %.0f", *v.Maximum))
	}
	if v.MaxLength != nil {
		out = append(out, fmt.Sprintf("at most %d characters", *v.MaxLength))
	}
	if v.Pattern != "" {
		out = append(out, "matches "+v.Pattern)
	}
	if v.Default != nil {
		out = append(out, fmt.Sprintf("default %v", v.Default))
	}
	return out
}

// exampleOf writes a call that can be copied into a shell.
func exampleOf(o docsOperation) string {
	const address = exampleAddress
	switch o.ID {
	case "createCapture":
		return "curl --data-binary @slow-allreduce.pcap -H 'Content-Type: application/octet-stream' '" + address + o.Path + "?name=slow-allreduce.pcap'"
	case "runQuery":
		return "curl -H 'Content-Type: application/json' -d '{\"sql\": \"SELECT name, status FROM captures\"}' " + address + o.Path
	case "createUpload":
		return "curl -i -X POST -H 'Tus-Resumable: 1.0.0' -H 'Upload-Length: 6850' -H 'Upload-Metadata: filename YS5wY2Fw' " + address + o.Path
	}
	if len(o.Body) > 0 || o.Method == http.MethodOptions || o.Method == http.MethodHead || strings.Contains(o.Path, "/uploads/") {
		return ""
	}
	call := "curl "
	if o.Method != http.MethodGet {
		call += "-X " + o.Method + " "
	}
	return call + address + o.Path
}

// inline shows what stands between backquotes as code.
func inline(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		escaped := template.HTMLEscapeString(part)
		if i%2 == 1 {
			escaped = "<code>" + escaped + "</code>"
		}
		out.WriteString(escaped)
	}
	return template.HTML(out.String()) //nolint:gosec // escaped above
}

func paragraphs(text string) []string {
	var out []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			out = append(out, p)
		}
	}
	return out
}
