package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tus/tusd/v2/pkg/handler"
)

// tusAnswer turns the tus handler's plain errors into problems, and its absolute addresses into paths, which hold
// behind proxies too.
type tusAnswer struct {
	http.ResponseWriter
	s      *Server
	r      *http.Request
	status int
	text   strings.Builder
	sent   bool
}

// Unwrap is for http.ResponseController.
func (a *tusAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *tusAnswer) WriteHeader(status int) {
	if a.status != 0 {
		return
	}
	a.status = status
	if status >= http.StatusBadRequest {
		return // finish writes it
	}
	if location := a.Header().Get("Location"); location != "" {
		if i := strings.Index(location, uploadsPath); i > 0 {
			a.Header().Set("Location", location[i:])
		}
	}
	a.sent = true
	a.ResponseWriter.WriteHeader(status)
}

func (a *tusAnswer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.sent {
		return a.ResponseWriter.Write(p)
	}
	return a.text.Write(p)
}

func (a *tusAnswer) finish() {
	if a.sent || a.status == 0 {
		return
	}
	p := tusProblem(a.status, strings.TrimSpace(a.text.String()))
	if a.status == http.StatusRequestEntityTooLarge && a.s.opt.MaxUpload > 0 {
		p = problemf(kindTooLarge, "The file is larger than it was announced to be, or than %s, which is all that this service takes.", byteSize(a.s.opt.MaxUpload))
	}
	a.s.writeProblem(a.ResponseWriter, a.r, p)
}

// tusProblem makes a problem of what the tus handler says: "ERR_CODE: text", or a problem of ours as JSON.
func tusProblem(status int, text string) *problem {
	if own, ok := strings.CutPrefix(text, tusOwn); ok {
		var kept struct{ Slug, Detail string }
		if err := json.Unmarshal([]byte(own), &kept); err == nil {
			for _, kind := range problemKinds {
				if kind.Slug == kept.Slug {
					return &problem{kind: kind, detail: kept.Detail}
				}
			}
		}
	}
	if status == http.StatusNotImplemented { // the one thing that the handler knows and this service does not take
		return problemf(kindInvalid, "The length of an upload has to be announced when it is begun, in the header Upload-Length.")
	}
	if _, after, ok := strings.Cut(text, ": "); ok {
		text = after
	}
	detail := capitalized(text)
	for _, kind := range problemKinds {
		if kind.Status == status {
			if detail == "" {
				detail = kind.Title + "."
			}
			return &problem{kind: kind, detail: detail}
		}
	}
	kind := kindInternal
	kind.Status = status
	return &problem{kind: kind, detail: detail}
}

const tusOwn = "ERR_ROCELENS: "

// tusError carries a problem of ours through the tus handler.
func tusError(err error) error {
	if _, theirs := errors.AsType[handler.Error](err); theirs {
		return err
	}
	p := asProblem(err)
	text, marshalled := json.Marshal(struct{ Slug, Detail string }{p.kind.Slug, p.detail})
	if marshalled != nil {
		return marshalled
	}
	return handler.NewError("ERR_ROCELENS", string(text), p.kind.Status)
}
