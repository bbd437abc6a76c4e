package kube

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Request is one that the API server has answered, as its audit log has it. Reads by the cluster's own parts, and leases of
// nodes, are not in the log.
type Request struct {
	Time        time.Time
	User        string // system:serviceaccount:NAMESPACE:NAME for a pod
	Agent       string
	Verb        string // get, list, watch, create, update, patch, delete, ...
	Group       string // of the resource; "" is the core group
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Code        int
}

// Writes says whether the request changes something.
func (r Request) Writes() bool {
	return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
}

// String is one line: who did what to what.
func (r Request) String() string {
	what := r.Resource
	if r.Group != "" {
		what += "." + r.Group
	}
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	return fmt.Sprintf("%s %s %s %s/%s: %d", r.User, r.Verb, what, r.Namespace, r.Name, r.Code)
}

// Mark is a place in the audit log.
type Mark int64

func (c *Cluster) auditLog() string { return filepath.Join(c.run, "log", "audit.log") }

// Mark gives the end of the audit log: an answered request is before it, a later one after.
func (c *Cluster) Mark() (Mark, error) {
	info, err := os.Stat(c.auditLog())
	if err != nil {
		return 0, err
	}
	return Mark(info.Size()), nil
}

// Requests reads the audit log from a mark to its end.
func (c *Cluster) Requests(from Mark) ([]Request, error) {
	f, err := os.Open(c.auditLog())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(int64(from), io.SeekStart); err != nil {
		return nil, err
	}
	return parseAudit(f)
}

// parseAudit reads whole lines; one that is being written is left for the next time.
func parseAudit(r io.Reader) ([]Request, error) {
	var requests []Request
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return requests, nil
		}
		if err != nil {
			return nil, err
		}
		var e struct {
			RequestReceivedTimestamp time.Time
			Verb, UserAgent          string
			User                     struct{ Username string }
			ObjectRef                struct{ APIGroup, Resource, Subresource, Namespace, Name string }
			ResponseStatus           struct{ Code int }
			Stage                    string
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read the audit log: %w: %s", err, line)
		}
		if (e.Verb == "watch") != (e.Stage == "ResponseStarted") {
			continue // a watch is told when it begins, everything else when it has ended
		}
		o := e.ObjectRef
		requests = append(requests, Request{e.RequestReceivedTimestamp, e.User.Username, e.UserAgent, e.Verb, o.APIGroup, o.Resource, o.Subresource, o.Namespace, o.Name, e.ResponseStatus.Code})
	}
}
