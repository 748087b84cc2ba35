package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/gin-gonic/gin"

	"github.com/rocelens/rocelens/server/api"
)

// basePath is where the API's document begins.
const basePath = "/api/v1"

// ginMode is set once: gin keeps it in a variable of the package.
var ginMode = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// endpoints is the handler of the API's document.
func (s *Server) endpoints() (http.Handler, error) {
	document, err := api.Document()
	if err != nil {
		return nil, fmt.Errorf("the API's document: %w", err)
	}
	ginMode()
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.ContextWithFallback = true
	engine.NoRoute(func(c *gin.Context) { s.notFound(c.Writer, c.Request) })
	engine.NoMethod(func(c *gin.Context) {
		s.writeProblem(c.Writer, c.Request, problemf(kindMethod, "%s is not possible here; allowed: %s.", c.Request.Method, c.Writer.Header().Get("Allow")))
	})
	engine.Use(s.admission(document))
	strict := api.NewStrictHandlerWithOptions(&endpoint{s}, nil, api.StrictGinServerOptions{
		RequestErrorHandlerFunc:  func(c *gin.Context, err error) { s.writeProblem(c.Writer, c.Request, invalid(err)) },
		HandlerErrorFunc:         func(c *gin.Context, err error) { s.writeProblem(c.Writer, c.Request, err) },
		ResponseErrorHandlerFunc: s.brokenAnswer,
	})
	api.RegisterHandlersWithOptions(engine, strict, api.GinServerOptions{
		BaseURL:      basePath,
		ErrorHandler: func(c *gin.Context, err error, _ int) { s.writeProblem(c.Writer, c.Request, invalid(err)) },
	})
	return engine, nil
}

// brokenAnswer handles errors of answers that may have begun.
func (s *Server) brokenAnswer(c *gin.Context, err error) {
	if !c.Writer.Written() {
		s.writeProblem(c.Writer, c.Request, err)
		return
	}
	s.log.LogAttrs(c.Request.Context(), slog.LevelDebug, "answer broken off", slog.String("path", c.Request.URL.Path), slog.String("error", err.Error()))
	// The client must not take a part for the whole.
	panic(http.ErrAbortHandler)
}

// admitted is what the document says of a route.
type admitted struct {
	openapi  *routers.Route
	query    []string // names of its parameters
	rawBody  bool     // the body is a file
	transfer bool     // takes as long as it takes
	timeout  time.Duration
}

// admission validates requests by the document, and bounds their bodies and their time.
func (s *Server) admission(document *openapi3.T) gin.HandlerFunc {
	table := map[string]*admitted{}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			table[method+" "+ginPath(path)] = newAdmitted(document, path, item, method, operation)
		}
	}
	return func(c *gin.Context) {
		a := table[c.Request.Method+" "+c.FullPath()]
		if a == nil {
			return // gin answers 404 and 405
		}
		nameRoute(c.Request.Context(), basePath+a.openapi.Path)
		c.Header("Cache-Control", "no-store")
		if !a.transfer {
			ctx, cancel := context.WithTimeout(c.Request.Context(), a.timeout)
			defer cancel()
			c.Request = c.Request.WithContext(ctx)
		}
		if !a.rawBody && c.Request.Body != nil {
			c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxJSONBody)
		}
		if err := a.validate(c); err != nil {
			s.writeProblem(c.Writer, c.Request, invalid(err))
			c.Abort()
			return
		}
		c.Next()
	}
}

func newAdmitted(document *openapi3.T, path string, item *openapi3.PathItem, method string, operation *openapi3.Operation) *admitted {
	a := &admitted{
		openapi: &routers.Route{Spec: document, Path: path, PathItem: item, Method: method, Operation: operation},
		timeout: requestTimeout,
	}
	for _, parameters := range []openapi3.Parameters{item.Parameters, operation.Parameters} {
		for _, p := range parameters {
			if p.Value.In == openapi3.ParameterInQuery {
				a.query = append(a.query, p.Value.Name)
			}
		}
	}
	switch operation.OperationID {
	case "createCapture":
		a.rawBody, a.transfer = true, true
	case "downloadCapture":
		a.transfer = true
	case "runQuery", "deleteCapture", "cancelCapture":
		a.timeout = queryTimeout
	}
	return a
}

// ginPath writes {name} as :name.
func ginPath(path string) string {
	return basePath + strings.NewReplacer("{", ":", "}", "").Replace(path)
}

func (a *admitted) validate(c *gin.Context) error {
	for name := range c.Request.URL.Query() {
		if !slices.Contains(a.query, name) {
			if len(a.query) == 0 {
				return problemf(kindInvalid, "There is no parameter %q here, nor any other.", name)
			}
			return problemf(kindInvalid, "There is no parameter %q here; there are %s.", name, strings.Join(a.query, ", "))
		}
	}
	if a.rawBody && strings.HasPrefix(c.ContentType(), "multipart/") {
		return problemf(kindMediaType, "Send the file as the body itself, not as a form: curl --data-binary @FILE -H 'Content-Type: application/octet-stream'.")
	}
	parameters := make(map[string]string, len(c.Params))
	for _, p := range c.Params {
		parameters[p.Key] = p.Value
	}
	return openapi3filter.ValidateRequest(c.Request.Context(), &openapi3filter.RequestValidationInput{
		Request: c.Request, PathParams: parameters, Route: a.openapi,
		Options: &openapi3filter.Options{ExcludeRequestBody: a.rawBody, KeepValidatedValue: true},
	})
}

// ownWords is how the validator introduces what it found.
var ownWords = regexp.MustCompile(`jsonschema validation failed with '[^']*' - at '[^']*': `)

// wrongForm is how the generated code says that it could not read a parameter.
var wrongForm = regexp.MustCompile(`^Invalid format for parameter (\w+):`)

// invalid says in one sentence what is wrong with a request.
func invalid(err error) error {
	var p *problem
	var tooLarge *http.MaxBytesError
	if errors.As(err, &p) || errors.As(err, &tooLarge) {
		return err
	}
	var request *openapi3filter.RequestError
	if !errors.As(err, &request) {
		detail := capitalized(err.Error())
		if m := wrongForm.FindStringSubmatch(err.Error()); m != nil {
			detail = fmt.Sprintf("Parameter %q: it does not have the form that the API's document gives it.", m[1])
		}
		return &problem{kind: kindInvalid, detail: detail, cause: err}
	}
	reason := request.Reason
	if request.Err != nil {
		reason = strings.TrimSpace(strings.Join([]string{request.Reason, request.Err.Error()}, ": "))
	}
	if schema, ok := errors.AsType[*openapi3.SchemaError](request.Err); ok {
		reason = schema.Reason
		if path := schema.JSONPointer(); len(path) > 0 {
			reason = fmt.Sprintf("%q: %s", strings.Join(path, "."), reason)
		}
	}
	reason = strings.TrimPrefix(strings.Join(strings.Fields(reason), " "), ": ")
	// What the validator says of itself, and of a place that is the parameter as a whole, helps nobody.
	reason = ownWords.ReplaceAllString(reason, "")
	switch {
	case request.Parameter != nil:
		return &problem{kind: kindInvalid, detail: fmt.Sprintf("Parameter %q: %s.", request.Parameter.Name, strings.TrimSuffix(reason, ".")), cause: err}
	case strings.Contains(request.Reason, "header Content-Type"):
		return &problem{kind: kindMediaType, detail: "The body must be JSON, with Content-Type: application/json.", cause: err}
	}
	return &problem{kind: kindInvalid, detail: fmt.Sprintf("The body: %s.", strings.TrimSuffix(reason, ".")), cause: err}
}
