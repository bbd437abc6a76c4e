package brokerclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Limits of one question to a cluster.
const (
	// requestLimit bounds a question with all attempts, at whichever brokers.
	requestLimit = 15 * time.Second
	// controllerLimit is the time that a request gives the controller. It leaves the broker some of the question's limit to answer.
	controllerLimit = 10 * time.Second
	// dialLimit bounds one attempt to connect: a pod that is gone answers nothing.
	dialLimit = 3 * time.Second
	// attempts bounds how often a request is sent again to another broker.
	attempts = 4
)

// clientID is how brokers see the operator.
const clientID = "fairlead-operator"

// Client asks one cluster through Kafka's protocol.
type Client struct {
	bootstrap []string
	kafka     *kgo.Client
	admin     *kadm.Client
}

// New gives a client of the cluster at the addresses, HOST:PORT each. No broker is asked yet. The caller closes it; [Clients] does
// both for clusters that come and go.
func New(bootstrap ...string) (*Client, error) {
	k, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap...),
		kgo.ClientID(clientID),
		kgo.DialTimeout(dialLimit),
		kgo.RequestRetries(attempts),
		kgo.RetryTimeout(requestLimit),
		kgo.RequestTimeoutOverhead(requestLimit-controllerLimit),
		kgo.DisableClientMetrics(), // an idle operator sends nothing
	)
	if err != nil {
		return nil, fmt.Errorf("client of cluster at %s: %w", strings.Join(bootstrap, ","), err)
	}
	admin := kadm.NewClient(k)
	admin.SetTimeoutMillis(int32(controllerLimit.Milliseconds()))
	return &Client{bootstrap: slices.Clone(bootstrap), kafka: k, admin: admin}, nil
}

// Close ends all connections. Requests that run end with an error. Of no client it does nothing.
func (c *Client) Close() {
	if c != nil {
		c.kafka.Close()
	}
}

// failed says what no broker of this cluster answered.
func (c *Client) failed(what string, err error) error {
	return fmt.Errorf("%s of cluster at %s: %w", what, strings.Join(c.bootstrap, ","), err)
}

// do sends a request to whichever broker it is for.
func do[R kmsg.Response](ctx context.Context, c *Client, what string, req kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	resp, err := c.kafka.Request(ctx, req)
	if err != nil {
		var none R
		return none, c.failed(what, err)
	}
	r, ok := resp.(R)
	if !ok {
		return r, c.failed(what, fmt.Errorf("the answer is a %T", resp))
	}
	return r, nil
}
