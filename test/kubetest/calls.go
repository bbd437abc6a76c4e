package kubetest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Calls are the requests of one client to the API server, since the beginning or the last Reset.
type Calls struct {
	mu   sync.Mutex
	made []Call
}

// Call is a request and its answer.
type Call struct {
	Method, Path string
	Status       int // 0: there was no answer
}

func (c Call) String() string { return c.Method + " " + c.Path + " " + strconv.Itoa(c.Status) }

// Write tells whether the call is to change something that somebody wants to be quiet: not a Lease, whose sense is to be renewed.
func (c Call) Write() bool {
	switch c.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return !strings.Contains(c.Path, "/leases") && !strings.HasSuffix(c.Path, "subjectaccessreviews")
}

// Record gives the config of a client whose calls are kept.
func (c *Calls) Record(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, c} })
	return cfg
}

type recorder struct {
	next  http.RoundTripper
	calls *Calls
}

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	call := Call{Method: req.Method, Path: req.URL.Path}
	if req.URL.Query().Has("watch") {
		call.Path += "?watch"
	}
	if resp != nil {
		call.Status = resp.StatusCode
	}
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	r.calls.made = append(r.calls.made, call)
	return resp, err
}

// Reset forgets all calls.
func (c *Calls) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = nil
}

// All are the calls, in the order of their answers.
func (c *Calls) All() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.made)
}

// Writes are the calls to change something, refused ones too.
func (c *Calls) Writes() []Call {
	return slices.DeleteFunc(c.All(), func(c Call) bool { return !c.Write() })
}

// Refused are the calls that the client had no permission for.
func (c *Calls) Refused() []Call {
	return slices.DeleteFunc(c.All(), func(c Call) bool { return c.Status != http.StatusForbidden })
}
