package brokerclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fairlead-io/fairlead/broker/adminapi"
)

// endpoint answers every path with one status and body, and remembers what it was asked.
type endpoint struct {
	status int
	body   string
	asked  []string
}

func (e *endpoint) serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.asked = append(e.asked, r.URL.String())
		w.WriteHeader(e.status)
		_, _ = w.Write([]byte(e.body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func newAdmin(t *testing.T) *Admin {
	t.Helper()
	a := NewAdmin()
	t.Cleanup(a.Close)
	return a
}

func TestABrokerThatIsNotReadySaysWhy(t *testing.T) {
	e := &endpoint{status: http.StatusServiceUnavailable, body: `{"nodeId":2,"ready":false,"phase":"recovering","reason":"opening logs","recovery":{"done":1,"total":9,"movedAt":5}}`}
	r, err := newAdmin(t).Readiness(t.Context(), e.serve(t)+"/")
	if err != nil || r.NodeID != 2 || r.Ready || r.Phase != adminapi.Recovering || r.Recovery.Total != 9 {
		t.Errorf("%+v %v", r, err)
	}
	if len(e.asked) != 1 || e.asked[0] != "/readyz" {
		t.Errorf("asked %q", e.asked)
	}
}

func TestAnAnswerThatIsNotUnderstoodIsAnErrorThatNamesTheBroker(t *testing.T) {
	for _, r := range []struct {
		what   string
		status int
		body   string
		want   string
	}{
		{"another status", http.StatusTeapot, "short and stout", `418 I'm a teapot: "short and stout"`},
		{"a status that is no answer", http.StatusNotFound, `{"nodeId":1}`, "404 Not Found"},
		{"no JSON", http.StatusOK, "<html>", "invalid character '<'"},
		{"nothing", http.StatusOK, "", "unexpected end of JSON"},
		{"an elsewhere", http.StatusFound, "", "302 Found"},
	} {
		url := (&endpoint{status: r.status, body: r.body}).serve(t)
		_, err := newAdmin(t).Readiness(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), r.want) || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v, want %q and %s", r.what, err, r.want, url)
		}
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	url := (&endpoint{status: http.StatusOK, body: strings.Repeat(" ", maxAnswer+1)}).serve(t)
	if _, err := newAdmin(t).Load(t.Context(), url); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Error(err)
	}
}

func TestAVerdictIsAskedOfTheNextBrokerWhenOneDoesNotAnswer(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	starting := (&endpoint{status: http.StatusServiceUnavailable, body: `{"nodeId":0,"ready":false}`}).serve(t)
	e := &endpoint{status: http.StatusOK, body: `{"brokers":[1,2],"safe":true,"imageVersion":7}`}
	v, err := newAdmin(t).SafeToStop(t.Context(), []string{gone.URL, starting, e.serve(t)}, []int32{1, 2})
	if err != nil || !v.Safe || v.ImageVersion != 7 {
		t.Errorf("%+v %v", v, err)
	}
	if len(e.asked) != 1 || e.asked[0] != "/safe-to-stop?ids=1,2" {
		t.Errorf("asked %q", e.asked)
	}
	_, err = newAdmin(t).SafeToStop(t.Context(), []string{gone.URL, starting}, []int32{1})
	if err == nil || !strings.Contains(err.Error(), gone.URL) || !strings.Contains(err.Error(), starting) {
		t.Errorf("an error that names both: %v", err)
	}
}

func TestAVerdictIsAskedOfNobodyWithoutBrokersToStop(t *testing.T) {
	e := &endpoint{status: http.StatusOK, body: `{"safe":true}`}
	if _, err := newAdmin(t).SafeToStop(t.Context(), []string{e.serve(t)}, nil); err == nil || len(e.asked) != 0 {
		t.Errorf("%v, asked %q", err, e.asked)
	}
	if _, err := newAdmin(t).SafeToStop(t.Context(), nil, []int32{1}); err == nil {
		t.Error("a verdict without an endpoint")
	}
}

// silent is a broker that takes the question and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestAQuestionToAnAdminEndpointEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Admin{&http.Client{Transport: silent{}}}
		_, err := a.Readiness(context.Background(), "http://broker-0:9094")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "http://broker-0:9094/readyz") {
			t.Error(err)
		}
	})
}
