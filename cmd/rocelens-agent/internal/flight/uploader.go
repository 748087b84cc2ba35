package flight

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Uploader sends files to a server of rocelens by the tus protocol (https://tus.io/protocols/resumable-upload), which goes on
// where it was broken off.
type Uploader struct {
	base   *url.URL
	client *http.Client
}

// NewUploader is for a server at an address such as https://user:password@rocelens.example.net/.
func NewUploader(address string) (*Uploader, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New("the address of a server begins with http:// or https://")
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 2 * time.Minute, IdleConnTimeout: time.Minute,
	}
	return &Uploader{base: base, client: &http.Client{Transport: transport}}, nil
}

// rejected is an answer that another try does not change soon.
type rejected struct {
	status int
	why    string
}

func (e *rejected) Error() string {
	if e.why != "" {
		return e.why
	}
	return fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
}

const (
	headerCapture = "Rocelens-Capture-Id"
	headerOffset  = "Upload-Offset"
)

// do sends a request and wants a status.
func (u *Uploader) do(ctx context.Context, method, target string, body io.Reader, length int64, want int, headers map[string]string) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	request.ContentLength = length
	if u.base.User != nil {
		password, _ := u.base.User.Password()
		request.SetBasicAuth(u.base.User.Username(), password)
	}
	request.Header.Set("Tus-Resumable", "1.0.0")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := u.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode == want {
		_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
		return response.Header, err
	}
	var problem struct{ Title, Detail string }
	_ = json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&problem) // not every answer says more than its status
	why := problem.Detail
	if why == "" {
		why = problem.Title
	}
	return nil, &rejected{response.StatusCode, why}
}

// send uploads a file, and returns the capture that it has become. location is where an earlier try began, empty without
// one; began is told where a new one does.
func (u *Uploader) send(ctx context.Context, path, name, location string, began func(location string) error) (capture uuid.UUID, err error) {
	file, err := os.Open(path)
	if err != nil {
		return capture, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return capture, err
	}
	offset := int64(0)
	if location != "" {
		offset, capture, err = u.resume(ctx, location)
		if err != nil || capture != (uuid.UUID{}) {
			return capture, err
		}
	}
	if offset < 0 || location == "" {
		offset = 0
		if location, err = u.create(ctx, name, info.Size()); err != nil {
			return capture, err
		}
		if err := began(location); err != nil {
			return capture, err
		}
	}
	header, err := u.do(ctx, http.MethodPatch, location, io.NewSectionReader(file, offset, info.Size()-offset), info.Size()-offset, http.StatusNoContent,
		map[string]string{"Content-Type": "application/offset+octet-stream", headerOffset: strconv.FormatInt(offset, 10)})
	if err != nil {
		return capture, err
	}
	return captureOf(header)
}

// resume asks how far an upload has come: -1 when the server has forgotten it. Of one that is whole it returns the capture.
func (u *Uploader) resume(ctx context.Context, location string) (offset int64, capture uuid.UUID, err error) {
	header, err := u.do(ctx, http.MethodHead, location, http.NoBody, 0, http.StatusOK, nil)
	if answer, ok := errors.AsType[*rejected](err); ok && (answer.status == http.StatusNotFound || answer.status == http.StatusGone) {
		return -1, capture, nil
	}
	if err != nil {
		return 0, capture, err
	}
	if header.Get(headerCapture) != "" {
		capture, err = captureOf(header)
		return 0, capture, err
	}
	offset, err = strconv.ParseInt(header.Get(headerOffset), 10, 64)
	if err != nil {
		return 0, capture, errors.New("the server does not say how far an upload has come")
	}
	return offset, capture, nil
}

// create begins an upload.
func (u *Uploader) create(ctx context.Context, name string, size int64) (location string, err error) {
	target := u.base.JoinPath("api", "v1", "uploads")
	target.User = nil
	header, err := u.do(ctx, http.MethodPost, target.String(), http.NoBody, 0, http.StatusCreated, map[string]string{
		"Upload-Length": strconv.FormatInt(size, 10), "Upload-Metadata": "filename " + base64.StdEncoding.EncodeToString([]byte(name)),
	})
	if err != nil {
		return "", err
	}
	at, err := target.Parse(header.Get("Location"))
	if err != nil || header.Get("Location") == "" {
		return "", errors.New("the server does not say where the upload goes")
	}
	// What is behind a proxy may know itself by another name.
	at.Scheme, at.Host = target.Scheme, target.Host
	return at.String(), nil
}

func captureOf(header http.Header) (uuid.UUID, error) {
	capture, err := uuid.Parse(header.Get(headerCapture))
	if err != nil {
		return capture, errors.New("the server took a record and does not say which capture it is")
	}
	return capture, nil
}
