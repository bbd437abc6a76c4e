package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/metadata"
)

// images holds the newest image of the cluster and lets requests wait for one that they need. Readers of the newest image
// wait for nobody.
type images struct {
	current atomic.Pointer[metadata.Image]

	mu      sync.Mutex
	changed chan struct{} // closed when current is replaced; guarded by mu
}

func newImages() *images {
	i := &images{changed: make(chan struct{})}
	i.current.Store(&metadata.Image{})
	return i
}

// Current is the newest image.
func (i *images) Current() *metadata.Image { return i.current.Load() }

// watch gives the newest image and a channel that is closed when there is a newer one.
func (i *images) watch() (*metadata.Image, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.current.Load(), i.changed
}

// publish replaces the image.
func (i *images) publish(image *metadata.Image) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.current.Store(image)
	close(i.changed)
	i.changed = make(chan struct{})
}

// Await returns the first image, from the newest on, that satisfies ok, or the newest when the context ends.
func (i *images) Await(ctx context.Context, ok func(*metadata.Image) bool) *metadata.Image {
	for {
		image, changed := i.watch()
		if ok(image) {
			return image
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return image
		}
	}
}
