package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// reader reads objects by the names that kubectl knows. Tests look at the cluster several times a second, and on a small
// machine a kubectl for each look would take the processor from what is looked at.
type reader struct {
	mapper  meta.RESTMapper
	objects dynamic.Interface
}

// newReader is an administrator's, once for all tests of a process.
var newReader = sync.OnceValues(func() (*reader, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit
	config.UserAgent = "fairlead-e2e"
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(found)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	return &reader{mapper, objects}, nil
})

// mapping finds what a kind is called in the API: "pods", "pod", "po", "clusters.fairlead.io" and "topic.fairlead.io" are
// all right. What is not known, is asked for again, since it may be defined by now.
func (r *reader) mapping(kind string) (*meta.RESTMapping, error) {
	m, err := r.known(kind)
	if meta.IsNoMatchError(err) {
		meta.MaybeResetRESTMapper(r.mapper)
		m, err = r.known(kind)
	}
	return m, err
}

func (r *reader) known(kind string) (*meta.RESTMapping, error) {
	resource, err := r.mapper.ResourceFor(schema.ParseGroupResource(strings.ToLower(kind)).WithVersion(""))
	if err != nil {
		return nil, err
	}
	gvk, err := r.mapper.KindFor(resource)
	if err != nil {
		return nil, err
	}
	return r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}

// read gives an object's JSON, or a list's when name is empty.
func (r *reader) read(ctx context.Context, namespace, kind, name string) ([]byte, error) {
	mapping, err := r.mapping(kind)
	if err != nil {
		return nil, err
	}
	resource := r.objects.Resource(mapping.Resource)
	in := dynamic.ResourceInterface(resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		in = resource.Namespace(namespace)
	}
	if name == "" {
		list, err := in.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return list.MarshalJSON()
	}
	object, err := in.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.MarshalJSON()
}

// ErrNotFound is in an error of Get or Kubectl, when there is no such object.
var ErrNotFound = errors.New("not found")

// json reads an object, and says in an error which.
func (c *Cluster) json(ctx context.Context, namespace, kind, name string) ([]byte, error) {
	r, err := newReader()
	if err != nil {
		return nil, err
	}
	text, err := r.read(ctx, namespace, kind, name)
	if apierrors.IsNotFound(err) {
		err = errors.Join(ErrNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", kind, namespace, name, err)
	}
	return text, nil
}

// Get reads an object, or a list when name is empty, into a value with Kubernetes' JSON names: a struct of package
// k8s.io/api, of this project's api, or one with the few fields that matter. The kind is a name that kubectl knows.
func (c *Cluster) Get(ctx context.Context, namespace, kind, name string, into any) error {
	text, err := c.json(ctx, namespace, kind, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
	}
	return nil
}
