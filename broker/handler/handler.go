package handler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/coordinator"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/replication"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// Controller carries requests to the quorum's leader, wherever it is.
type Controller interface {
	// Do sends a request and waits for its answer until the context ends. The answer is given when this broker's own
	// image holds the change and, within a bound, those of the others. Byte fields of the response are the caller's.
	Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
	// Status is what this broker knows of the quorum.
	Status() quorum.Status
}

// Images gives what the broker knows of the cluster and has followed: its partitions have the roles that the image gives them.
type Images interface {
	// Current is the newest such image, never nil.
	Current() *metadata.Image
	// Await returns the first image, from now on, that satisfies ok, or the newest when the context ends.
	Await(ctx context.Context, ok func(*metadata.Image) bool) *metadata.Image
}

// Options are the parts that the handlers command. All fields without a word to the contrary are required.
type Options struct {
	Node       kafka.NodeID
	ClusterID  func() string
	Images     Images
	Newest     func() *metadata.Image // may be ahead of Images, never behind
	Settings   func() *config.Broker  // the broker's settings as they are now
	Layers     func() config.Layers   // where they come from, without a topic's
	Partitions *partition.Manager
	Volume     func() (total, free int64) // bytes of the file system of the data directory; -1 when unknown
	Throttle   *replication.Throttle      // of what throttled followers are sent; nil: none
	Groups     *coordinator.Groups
	Controller Controller
	Clock      Clock
	Log        logr.Logger
}

// Clock gives the two kinds of time.
type Clock interface {
	Elapsed() kafka.Elapsed
	Wall() kafka.Timestamp
}

// Handler answers requests of clients and of followers. Its methods are safe for concurrent use.
type Handler struct {
	Options
	apis      *wire.Set
	table     map[kmsg.Key]serve
	sessions  *fetchSessions
	producers *producerIDs
	creations creations
	draining  chan struct{} // closed by Drain
	drain     sync.Once
}

// New makes a handler.
func New(o Options) (*Handler, error) {
	h := &Handler{Options: o, table: map[kmsg.Key]serve{}, draining: make(chan struct{})}
	keys := make([]kmsg.Key, 0, len(apis))
	for _, a := range apis {
		keys = append(keys, a.key)
		h.table[a.key] = a.serve
	}
	set, err := wire.NewSet(keys...)
	if err != nil {
		return nil, fmt.Errorf("make handler: %w", err)
	}
	h.apis = set
	h.sessions = newFetchSessions(int(o.Settings().Network.FetchSessionSlots))
	h.producers = &producerIDs{allocate: h.allocateProducerIDs, fetching: make(chan struct{}, 1)}
	return h, nil
}

// Drain has every fetch that waits for records answered now with what there is, and later ones not wait: the broker stops, and
// should not stay for as long as its clients are patient.
func (h *Handler) Drain() { h.drain.Do(func() { close(h.draining) }) }

// APIs is the set of APIs that the handler serves to clients and to followers.
func (h *Handler) APIs() *wire.Set { return h.apis }

// serve answers one decoded request.
type serve func(h *Handler, c *call, req kmsg.Request) *conn.Reply

// call is one request on its way.
type call struct {
	*conn.Request
	image *metadata.Image // the cluster as it was when the request came
}

// Handle answers one request. See [conn.Handler].
func (h *Handler) Handle(r *conn.Request) *conn.Reply {
	answer, ok := h.table[r.Header.Key]
	if !ok {
		return conn.Close(fmt.Errorf("no handler for %s", r.Header.Key.Name()))
	}
	req, err := wire.DecodeRequest(r.Header, r.Body)
	if err != nil {
		return conn.Close(err)
	}
	return answer(h, &call{Request: r, image: h.Images.Current()}, req)
}

// answer is a complete reply.
func (c *call) answer(resp kmsg.Response) *conn.Reply {
	return conn.Answer(wire.AppendResponse(nil, c.Header, resp))
}

// complete answers a pending reply.
func (c *call) complete(reply *conn.Reply, resp kmsg.Response) {
	reply.CompleteFrame(wire.AppendResponse(nil, c.Header, resp))
}

// later answers with what f returns, computed on a goroutine of its own that has until limit. Request bytes stay valid meanwhile.
func (c *call) later(limit time.Duration, f func(ctx context.Context) kmsg.Response) *conn.Reply {
	reply := conn.Pending()
	c.Retain()
	go func() {
		defer c.Release()
		ctx, cancel := context.WithTimeout(c.Conn.Context, limit)
		defer cancel()
		c.complete(reply, f(ctx))
	}()
	return reply
}
