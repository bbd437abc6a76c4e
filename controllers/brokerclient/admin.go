package brokerclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/broker/adminapi"
)

// Limits of one question to an admin endpoint.
const (
	// adminLimit bounds a question to one broker. A broker gives the quorum's leader two seconds for a verdict.
	adminLimit = 5 * time.Second
	// maxAnswer bounds the answer in bytes: a load has about 150 for each replica of the broker.
	maxAnswer = 64 << 20
	// maxQuoted bounds, in bytes, what is quoted of an answer that is not understood.
	maxQuoted = 200
	// idleAdminConns bounds the connections that are kept to one broker, and idleAdminLimit how long.
	idleAdminConns, idleAdminLimit = 2, time.Minute
)

// Admin asks brokers' admin endpoints. A broker is named by the endpoint's URL without a path: http://HOST:PORT.
type Admin struct{ http *http.Client }

// NewAdmin gives one for all clusters.
func NewAdmin() *Admin {
	return &Admin{&http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialLimit}).DialContext,
			MaxIdleConnsPerHost: idleAdminConns,
			IdleConnTimeout:     idleAdminLimit,
		},
		// A broker sends nobody elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close ends idle connections.
func (a *Admin) Close() { a.http.CloseIdleConnections() }

// Readiness asks one broker how far it is. A broker that is not ready answers too: that is no error.
func (a *Admin) Readiness(ctx context.Context, url string) (adminapi.Readiness, error) {
	return ask[adminapi.Readiness](ctx, a, url, "/readyz", http.StatusOK, http.StatusServiceUnavailable)
}

// Load asks one broker what it carries.
func (a *Admin) Load(ctx context.Context, url string) (adminapi.Load, error) {
	return ask[adminapi.Load](ctx, a, url, "/load", http.StatusOK)
}

// SafeToStop asks whether brokers may be stopped together. The quorum's leader answers, whichever broker is asked: the first of
// the endpoints that answers decides, and an error says of each why it did not.
func (a *Admin) SafeToStop(ctx context.Context, urls []string, ids []int32) (adminapi.Verdict, error) {
	var words []string
	for _, id := range ids {
		words = append(words, strconv.Itoa(int(id)))
	}
	if len(words) == 0 {
		return adminapi.Verdict{}, errors.New("verdict on stopping brokers: no broker is named")
	}
	failures := []error{errors.New("verdict on stopping brokers " + strings.Join(words, ",") + ": no broker answers")}
	for _, url := range urls {
		v, err := ask[adminapi.Verdict](ctx, a, url, "/safe-to-stop?ids="+strings.Join(words, ","), http.StatusOK)
		if err == nil {
			return v, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return adminapi.Verdict{}, errors.Join(failures...)
}

// ask gets JSON from one broker. Any other status than those accepted is an error.
func ask[T any](ctx context.Context, a *Admin, url, path string, accepted ...int) (T, error) {
	var out T
	ctx, cancel := context.WithTimeout(ctx, adminLimit)
	defer cancel()
	target := strings.TrimSuffix(url, "/") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return out, fmt.Errorf("ask broker: %w", err)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return out, fmt.Errorf("ask broker: %w", err) // names the URL
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return out, fmt.Errorf("ask broker: GET %s: read answer: %w", target, err)
	case len(body) > maxAnswer:
		return out, fmt.Errorf("ask broker: GET %s: the answer is longer than %d bytes", target, maxAnswer)
	case !slices.Contains(accepted, resp.StatusCode):
		return out, fmt.Errorf("ask broker: GET %s: %s: %s", target, resp.Status, quoted(body))
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, fmt.Errorf("ask broker: GET %s: %s: %w in %s", target, resp.Status, err, quoted(body))
	}
	return out, nil
}

func quoted(body []byte) string { return strconv.Quote(string(body[:min(len(body), maxQuoted)])) }
