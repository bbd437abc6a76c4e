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
	Watch        bool
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
	call := Call{Method: req.Method, Path: req.URL.Path, Watch: req.URL.Query().Has("watch")}
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

// Permission is what a call needs.
type Permission struct{ Group, Resource, Verb string }

// Permissions are those that the calls needed, each once: a patch that made its object needed two. Resources have their subresource: pods/status.
func (c *Calls) Permissions() map[Permission]bool {
	all := map[Permission]bool{}
	for _, call := range c.All() {
		group, resource, named := target(call.Path)
		if resource == "" {
			continue
		}
		verb := ""
		switch call.Method {
		case http.MethodGet:
			verb = "list"
			if named {
				verb = "get"
			}
			if call.Watch {
				verb = "watch"
			}
		case http.MethodPost:
			verb = "create"
		case http.MethodPut:
			verb = "update"
		case http.MethodPatch:
			verb = "patch"
			if call.Status == http.StatusCreated {
				all[Permission{group, resource, "create"}] = true
			}
		case http.MethodDelete:
			verb = "delete"
		}
		all[Permission{group, resource, verb}] = true
	}
	return all
}

// target reads /api/v1/... and /apis/GROUP/VERSION/..., then [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]].
func target(path string) (group, resource string, named bool) {
	p := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(p) > 2 && p[0] == "api":
		p = p[2:]
	case len(p) > 3 && p[0] == "apis":
		group, p = p[1], p[3:]
	default:
		return "", "", false
	}
	if len(p) > 2 && p[0] == "namespaces" {
		p = p[2:]
	}
	if len(p) == 3 {
		return group, p[0] + "/" + p[2], true
	}
	return group, p[0], len(p) > 1
}
