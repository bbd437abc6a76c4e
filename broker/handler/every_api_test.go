package handler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// randomRequests is how many requests of each API TestAnyRequestHasAnAnswer sends.
const randomRequests = 300

// TestAnyRequestHasAnAnswer sends requests of every API in every version that is served, whose fields are random but well formed:
// none ends the process, and each is answered by a frame that decodes, or by the end of the connection, in the time that the
// request allows.
func TestAnyRequestHasAnAnswer(t *testing.T) {
	for i, a := range apis {
		t.Run(a.key.Name(), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			inWorld(t, func(w *world) {
				w.set("auto.create.topics.enable", "true")
				w.controller.answer = func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
					// As over the wire: what cannot be encoded is a mistake of the handler's.
					again := kmsg.Key(req.Key()).Request()
					again.SetVersion(req.GetVersion())
					if err := again.ReadFrom(req.AppendTo(nil)); err != nil {
						t.Errorf("forwarded: %v", err)
					}
					return req.ResponseKind(), nil
				}
				w.topic("t", on(self), on(self, other), on(other, self), on(other))
				w.topic("u", on(self))
				w.topic("__consumer_offsets", on(self))
				w.write("t", "a", "b", "c")
				w.hostGroups()
				g := &generator{rand.New(rand.NewPCG(seed, uint64(i))), w}
				api, _ := wire.Lookup(a.key)
				for range randomRequests {
					req := a.key.Request()
					req.SetVersion(api.Served.Min + int16(g.IntN(int(api.Served.Max-api.Served.Min)+1)))
					g.fill(reflect.ValueOf(req).Elem(), 0)
					g.expectAnswer(req)
				}
			})
		})
	}
}

// generator makes requests.
type generator struct {
	*rand.Rand
	w *world
}

func (g *generator) expectAnswer(req kmsg.Request) {
	defer func() {
		if p := recover(); p != nil {
			g.w.t.Fatalf("version %d: panic: %v\n%+v", req.GetVersion(), p, req)
		}
	}()
	a := g.w.send(req)
	for range 100 {
		if !a.pending() {
			break
		}
		g.w.pass(time.Second)
		<-time.After(time.Minute)
	}
	if a.pending() {
		g.w.t.Fatalf("no answer within an hour and more: version %d %+v", req.GetVersion(), req)
	}
	if a.outcome() == conn.Answered {
		if _, err := a.decode(); err != nil {
			g.w.t.Fatalf("%v\n%+v", err, req)
		}
	}
}

// fill gives random values to a struct's fields.
func (g *generator) fill(v reflect.Value, depth int) {
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "Version" && depth == 0 || name == "UnknownTags" {
			continue
		}
		g.value(name, v.Field(i), depth)
	}
}

func (g *generator) value(name string, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		g.fill(v, depth+1)
	case reflect.Pointer:
		if g.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			g.value(name, v.Elem(), depth)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(g.bytes(name))
			return
		}
		n := g.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			g.value(name, v.Index(i), depth)
		}
		if n == 0 && g.IntN(2) == 0 {
			v.SetZero()
		}
	case reflect.Array: // a topic id or a directory
		ids := []kafka.TopicID{{}, topicID("t"), topicID("u"), {9}}
		v.Set(reflect.ValueOf(ids[g.IntN(len(ids))]).Convert(v.Type()))
	case reflect.String:
		v.SetString(pick(g, "t", "t", "u", "__consumer_offsets", "missing", "new"+fmt.Sprint(g.IntN(1000)), "", "no/name", "1", "__cluster_metadata", "äöü\x00"))
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := pick[int64](g, 0, 0, 0, 1, 1, 2, 3, -1, -1, -2, 4, 5, 100, 1<<20, 1<<(v.Type().Bits()-1)-1, -1<<(v.Type().Bits()-1))
		if v.OverflowInt(n) {
			n = 1
		}
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(g.IntN(3)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(g.Float64())
	}
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) bytes(name string) []byte {
	switch g.IntN(4) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		b := make([]byte, g.IntN(100))
		for i := range b {
			b[i] = byte(g.Uint32())
		}
		return b
	}
	b := batch(g.w.t, record.BuilderOptions{Idempotent: g.IntN(2) == 0, ProducerID: 7, BaseSequence: int32(g.IntN(3)), Transactional: g.IntN(5) == 0}, "x", "y")
	if g.IntN(4) == 0 {
		b[g.IntN(len(b))] ^= 1 << g.IntN(8)
	}
	return b
}

// TestEveryAPIIsServedInTheVersionsOfTheTable: the table of handlers and the table of versions agree.
func TestEveryAPIIsServedInTheVersionsOfTheTable(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, k := range w.h.APIs().Advertised() {
			if !slices.ContainsFunc(apis, func(a struct {
				key   kmsg.Key
				serve serve
			},
			) bool {
				return a.key == kmsg.Key(k.ApiKey)
			}) {
				t.Errorf("%s is advertised without a handler", kmsg.Key(k.ApiKey).Name())
			}
		}
		if n := len(w.h.APIs().Advertised()); n != len(apis) {
			t.Errorf("%d advertised, %d handled", n, len(apis))
		}
	})
}

// TestBodiesThatEndEarlyEndTheConnection cuts a request of each API at every byte.
func TestBodiesThatEndEarlyEndTheConnection(t *testing.T) {
	inWorld(t, func(w *world) {
		w.controller.answer = func(context.Context, kmsg.Request) (kmsg.Response, error) { return nil, context.Canceled }
		g := &generator{rand.New(rand.NewPCG(1, 2)), w}
		for _, a := range apis {
			for _, version := range versions(a.key) {
				req := a.key.Request()
				req.SetVersion(version)
				g.fill(reflect.ValueOf(req).Elem(), 0)
				whole := req.AppendTo(nil)
				for n := range whole {
					h := wire.RequestHeader{Key: a.key, Version: version}
					reply := w.h.Handle(conn.NewRequest(h, whole[:n:n], w.info, time.Now()))
					if o, _, cause := reply.Result(); o != conn.Closed || cause == nil {
						t.Fatalf("%s version %d cut at %d of %d bytes: outcome %d", a.key.Name(), version, n, len(whole), o)
					}
				}
			}
		}
		reply := w.h.Handle(conn.NewRequest(wire.RequestHeader{Key: 999}, nil, w.info, time.Now()))
		if o, _, _ := reply.Result(); o != conn.Closed {
			t.Errorf("a key without handler: outcome %d", o)
		}
	})
}

// hostGroups makes this broker the coordinator of all groups.
func (w *world) hostGroups() *groupLog {
	l := new(groupLog)
	w.groups.Elected(0, 1, l)
	var buf []byte
	for w.groups.LoadStep(&buf) {
	}
	synctest.Wait()
	return l
}
